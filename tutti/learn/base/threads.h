// The threads of one fit. The work is cut into parts by the caller, never by the number of threads,
// so that sums over parts have the same bits whatever runs them.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "tutti/core/mutex.h"

namespace tutti::learn {

// One caller at a time.
class Threads {
 public:
  // `count` < 1: one per processor this process may use.
  explicit Threads(int count = 0);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls `body(part)` once for every part in [0, parts), on any thread, and returns when all are
  // done. What the first failing part threw is thrown again.
  void run(std::int64_t parts, const std::function<void(std::int64_t)>& body);

  // Cuts [0, size) into pieces of at most `grain` and calls `body(begin, end)` for each.
  void for_range(std::int64_t size, std::int64_t grain,
                 const std::function<void(std::int64_t, std::int64_t)>& body);

 private:
  void help();
  void take_parts();

  std::vector<std::thread> helpers_;
  Mutex mutex_;
  ConditionVariable started_, finished_;
  std::atomic<std::int64_t> generation_ = 0;       // of the call that is running
  std::atomic<int> busy_ = 0;                      // helpers that take part in it
  bool is_open_ TUTTI_GUARDED_BY(mutex_) = false;  // helpers may still join it
  std::atomic<std::int64_t> next_part_ = 0;
  std::int64_t parts_ = 0;
  const std::function<void(std::int64_t)>* body_ = nullptr;
  std::exception_ptr error_ TUTTI_GUARDED_BY(mutex_);
  bool stops_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti::learn
