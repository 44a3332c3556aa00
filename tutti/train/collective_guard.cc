#include "tutti/train/collective_guard.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

#include "tutti/core/crc32c.h"
#include "tutti/core/error.h"
#include "tutti/core/failure.h"

namespace tutti::train {
namespace {

bool is_of_communicator(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known && (known->kind() == ErrorKind::kComm || known->kind() == ErrorKind::kTimeout);
}

[[noreturn]] void throw_named(const std::exception& error, int rank) {
  const std::string text = fmt::format("rank {}: {}", rank, error_message(error));
  if (exit_code(error) == 2) throw ConfigError("DDL-9-63", text);
  throw IoError("DDL-9-63", text);
}

}  // namespace

std::string error_message(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text =
      torch_error ? torch_error->what_without_backtrace() : failure_text(error);
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) ||
                         text.find("can't allocate memory") != std::string::npos;
  return is_memory ? "DDL-9-64 Out of memory. Lower `batch` (and set `accumulate`), or use fewer "
                     "ranks on this host."
                   : text;
}

void collective_guard(comm::Communicator& communicator, const std::function<void()>& work) {
  std::exception_ptr failure;
  std::int64_t checksum = 0;  // of the message; 0: no error
  int code = 0;
  try {
    work();
  } catch (const std::exception& error) {
    if (is_of_communicator(error)) throw;
    failure = std::current_exception();
    const std::string text = error_message(error);
    checksum = std::int64_t{1} + crc32c(text.data(), text.size());
    code = exit_code(error);
  }
  std::array<std::int64_t, 3> most = {checksum, -checksum, code};
  try {
    communicator.all_reduce(Buffer::of(std::span<std::int64_t>(most)), ReduceOp::kMax,
                            {.name = "can go on"});
  } catch (const Error&) {
    if (failure) std::rethrow_exception(failure);  // the other ranks failed elsewhere
    throw;
  }
  if (most[0] == 0) return;
  const bool is_same = most[0] == -most[1];
  if (!failure || (is_same && communicator.rank() != 0))
    throw ReportedByAnotherRank(static_cast<int>(most[2]));
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    if (is_same) throw;
    throw_named(error, communicator.rank());
  }
}

}  // namespace tutti::train
