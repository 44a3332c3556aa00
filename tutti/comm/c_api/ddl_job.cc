#include "tutti/comm/c_api/ddl_job.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "tutti/comm/c_api/ddl.h"
#include "tutti/comm/internal/calls.h"
#include "tutti/core/log.h"
#include "tutti/plan/mode.h"

namespace tutti::comm {
namespace {

thread_local std::string last_failure;

int code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kConfig: return DDL_ERROR_CONFIG;
    case ErrorKind::kComm: return DDL_ERROR_COMM;
    case ErrorKind::kTimeout: return DDL_ERROR_TIMEOUT;
    case ErrorKind::kMemory: return DDL_ERROR_MEMORY;
    case ErrorKind::kIo: return DDL_ERROR_IO;
    case ErrorKind::kCompute: break;  // not a communication failure
  }
  return DDL_ERROR_UNKNOWN;
}

constexpr const char* kNotBegun =
    "DDL-4-60 The job is not running: call ddl_init first, and nothing after ddl_finalize.";

}  // namespace

DdlJob& DdlJob::instance() {
  static DdlJob* const job = new DdlJob;
  return *job;
}

// Checked before any lock is taken: a thread of the parent may have held it at the fork.
void DdlJob::require_parent() const {
  const ForkGuard* const guard = fork_guard_;
  if (!guard || !guard->is_child()) return;
  throw StateError(fmt::format("{} {}", ForkGuard::kCode, ForkGuard::kMessage));
}

void DdlJob::begin(const char* text) {
  require_parent();
  const std::unique_lock alone(mutex_);
  if (!groups_.empty()) {
    throw StateError("DDL-4-61 ddl_init was called twice: call it once per process.");
  }
  if (has_ended_) {
    throw StateError(
        "DDL-4-66 ddl_init was called after ddl_finalize: a process has one job, so keep it until "
        "the end of the program.");
  }
  Options options = environment_options();
  if (options.is_default("on_failure")) options.set("on_failure", "abort", "C API");
  if (text) apply_option_string(options, text, "ddl_init");
  // MPI cannot be initialized twice in a process, so options are validated before it starts.
  plan::parse_mode(options.text("mode"));
  std::shared_ptr<Communicator> world = Communicator::from_environment(options);
  log::set_tag(fmt::format("rank {}", world->rank()));
  groups_[0] = std::move(world);
  next_group_ = 1;
  fork_guard_ = new ForkGuard;
}

void DdlJob::end() {
  require_parent();
  const std::unique_lock alone(mutex_);
  if (groups_.empty() && guests_.empty()) throw StateError(kNotBegun);
  // Destroy groups before the world communicator, newest first; all ranks use the same order.
  has_ended_ |= !groups_.empty();
  while (!groups_.empty()) groups_.erase(std::prev(groups_.end()));
  while (!guests_.empty()) guests_.pop_back();
}

DdlJob::Use::Use(DdlJob& job, int group)
    : running_((job.require_parent(), std::shared_lock(job.mutex_))) {
  const std::lock_guard lock(job.groups_mutex_);
  if (job.groups_.empty()) throw StateError(kNotBegun);
  const auto found = job.groups_.find(group);
  require(found != job.groups_.end(),
          "Unknown group {}: use DDL_WORLD, or a group from ddl_split that ddl_group_free did not "
          "end.",
          group);
  communicator_ = found->second;
}

int DdlJob::add_group(std::unique_ptr<Communicator> communicator) {
  const std::lock_guard lock(groups_mutex_);
  groups_[next_group_] = std::move(communicator);
  return next_group_++;
}

void DdlJob::remove_group(int group) {
  require(group != 0, "Group 0 is the whole job; ddl_finalize ends it.");
  const Use last_use(*this, group);
  const std::lock_guard lock(groups_mutex_);
  groups_.erase(group);
}

Communicator& DdlJob::add_guest(std::unique_ptr<Communicator> communicator) {
  const std::lock_guard lock(groups_mutex_);
  return *guests_.emplace_back(std::move(communicator));
}

std::int64_t ddl_count(std::size_t count, int ranks, const char* what) {
  constexpr std::size_t kMost = std::size_t{1} << 56;
  require(count < kMost / static_cast<std::size_t>(ranks), "Invalid number of {1}: {0}.",
          static_cast<std::int64_t>(count), what);
  return static_cast<std::int64_t>(count) * ranks;
}

int ddl_failure() noexcept try {
  try {
    throw;
  } catch (const Error& error) {
    last_failure = error.what();
    return code_of(error.kind());
  } catch (const StateError& error) {
    last_failure = error.what();
    return DDL_ERROR_STATE;
  } catch (const std::bad_alloc&) {
    last_failure = "DDL-5-60 This process is out of memory.";
    return DDL_ERROR_MEMORY;
  } catch (const std::exception& error) {
    last_failure = error.what();
  } catch (...) {
    last_failure = "unknown error";
  }
  return DDL_ERROR_UNKNOWN;
} catch (...) {
  return DDL_ERROR_MEMORY;  // out of memory even for the message
}

const char* ddl_failure_text() noexcept {
  return last_failure.c_str();
}

}  // namespace tutti::comm
