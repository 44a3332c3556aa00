// State behind the C API: the job of the process, and the conversion of exceptions to error codes.
#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/comm/faults/fork_guard.h"

namespace tutti::comm {

class DdlJob {
 public:
  // Never destroyed: a program that exits without ddl_finalize does not wait for its peers.
  static DdlJob& instance();

  // Throw StateError if the job has already begun or ended (`begin`), if it has not begun (`end`), and in a forked
  // child. A `begin` that fails with ConfigError may be repeated.
  void begin(const char* options);
  void end();

  // A group of the running job; 0: all ranks. The job cannot end while a Use exists.
  class Use {
   public:
    Use(DdlJob& job, int group);
    Communicator& operator*() const { return *communicator_; }
    Communicator* operator->() const { return communicator_.get(); }

   private:
    std::shared_lock<std::shared_mutex> running_;
    std::shared_ptr<Communicator> communicator_;
  };
  int add_group(std::unique_ptr<Communicator> communicator);
  void remove_group(int group);
  // Keeps the communicator of a program that owns MPI until the end of the job.
  Communicator& add_guest(std::unique_ptr<Communicator> communicator);

 private:
  void require_parent() const;

  std::atomic<const ForkGuard*> fork_guard_ = nullptr;  // never freed: read without the lock
  std::shared_mutex mutex_;  // shared by calls, exclusive in begin and end
  bool has_ended_ = false;
  std::mutex groups_mutex_;
  std::map<int, std::shared_ptr<Communicator>> groups_;
  int next_group_ = 0;
  std::vector<std::unique_ptr<Communicator>> guests_;
};

// The job is not in the state that the call requires.
struct StateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Total number of `what` over `ranks` ranks with `count` each. Throws ConfigError with the number as the caller wrote
// it: a negative count arrives here as a huge one.
std::int64_t ddl_count(std::size_t count, int ranks = 1, const char* what = "elements");

// Call while an exception is being handled: stores its message for ddl_last_error and returns its code.
int ddl_failure() noexcept;
const char* ddl_failure_text() noexcept;

// Runs `call`, which may throw, and returns the code for the C API.
template <class Call>
int ddl_guard(Call&& call) noexcept {
  try {
    call();
    return 0;
  } catch (...) {
    return ddl_failure();
  }
}

}  // namespace tutti::comm
