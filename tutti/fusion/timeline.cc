#include "tutti/fusion/timeline.h"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <fstream>
#include <iterator>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/json_quoted.h"
#include "tutti/core/mutex.h"
#include "tutti/os/environment.h"

namespace tutti::fusion {
namespace {

constexpr const char* kBegin = "{\"traceEvents\":[\n";
constexpr const char* kEnd = "\n],\"displayTimeUnit\":\"ms\"}\n";

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text) || !file.flush())
    throw IoError("DDL-7-70",
                  fmt::format("The timeline cannot be written to {}. Choose another file.", path));
}

}  // namespace

void Timeline::start(const std::string& file) {
  const MutexLock lock(mutex_);
  file_ = file;
  spans_.clear();
}

bool Timeline::is_on() const {
  const MutexLock lock(mutex_);
  return !file_.empty();
}

void Timeline::add(Row row, const std::string& name, const std::string& tensor, std::int64_t begin,
                   std::int64_t end) {
  const MutexLock lock(mutex_);
  if (!file_.empty()) spans_.push_back({row, name, tensor, begin, end});
}

// Tensors overlap in time, so their row uses pairs of asynchronous events.
std::string Timeline::events_of(int rank, const std::string& host, std::int64_t clock_error) const {
  std::string text = fmt::format(
      R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":{1}}}}},
{{"ph":"M","pid":{0},"tid":0,"name":"thread_name","args":{{"name":"tensors"}}}},
{{"ph":"M","pid":{0},"tid":1,"name":"thread_name","args":{{"name":"reduction"}}}})",
      rank, json_quoted(fmt::format("rank {} ({})", rank, host)));
  auto out = std::back_inserter(text);
  std::uint64_t id = 0;
  for (const Span& span : spans_) {
    const double begin = 1e-3 * static_cast<double>(span.begin - clock_error);
    const double end = 1e-3 * static_cast<double>(span.end - clock_error);
    const std::string name = json_quoted(span.name), tensor = json_quoted(span.tensor);
    if (span.row == Row::kReduction) {
      fmt::format_to(out, R"(,
{{"ph":"X","pid":{},"tid":1,"ts":{:.3f},"dur":{:.3f},"name":{},"args":{{"tensor":{}}}}})",
                     rank, begin, end - begin, name, tensor);
      continue;
    }
    for (const char phase : {'b', 'e'}) {
      fmt::format_to(out, R"(,
{{"ph":"{}","cat":{},"id":"{}.{}","pid":{},"tid":0,"ts":{:.3f},"name":{},"args":{{"tensor":{}}}}})",
                     phase, name, rank, id, rank, phase == 'b' ? begin : end, tensor, tensor);
    }
    ++id;
  }
  return text;
}

void Timeline::write(comm::Communicator& communicator) {
  communicator.barrier({"timeline clock"});
  const std::int64_t mine = now_ns();
  const int size = communicator.size();
  std::vector<std::int64_t> clocks(static_cast<std::size_t>(size));
  communicator.all_gather({&mine, 1, DType::kI64}, {clocks.data(), size, DType::kI64}, {},
                          {"timeline clocks"});
  std::string text, file;
  {
    const MutexLock lock(mutex_);
    const int rank = communicator.rank();
    if (!file_.empty()) text = events_of(rank, os::host_name(), mine - clocks[0]);
    file = std::exchange(file_, "");
    spans_.clear();
  }
  const auto length = static_cast<std::int64_t>(text.size());
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(size));
  communicator.all_gather({&length, 1, DType::kI64}, {lengths.data(), size, DType::kI64}, {},
                          {"timeline lengths"});
  std::int64_t total = 0;
  for (const std::int64_t l : lengths) total += l;
  std::string whole(communicator.rank() == 0 ? static_cast<std::size_t>(total) : 0, ' ');
  communicator.gather({text.data(), length, DType::kU8},
                      {whole.data(), static_cast<std::int64_t>(whole.size()), DType::kU8}, 0,
                      lengths, {"timeline"});
  if (communicator.rank() != 0 || file.empty()) return;
  std::string parts = kBegin;
  std::size_t at = 0;
  for (const std::int64_t l : lengths) {
    if (l == 0) continue;
    if (at > 0) parts += ",\n";
    parts += whole.substr(at, static_cast<std::size_t>(l));
    at += static_cast<std::size_t>(l);
  }
  write_file(file, parts + kEnd);
}

void Timeline::write_alone(int rank) {
  const MutexLock lock(mutex_);
  if (file_.empty()) return;
  write_file(fmt::format("{}.rank{}", file_, rank),
             kBegin + events_of(rank, os::host_name(), 0) + kEnd);
  file_.clear();
  spans_.clear();
}

}  // namespace tutti::fusion
