// Thread pool of one fit. Callers divide the work into parts independently of the number of threads, so sums over parts
// are bitwise identical for any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "tutti/core/mutex.h"

namespace tutti::learn {

// Used by one caller at a time.
class Threads {
 public:
  // `count` < 1: one thread per CPU that this process may use.
  explicit Threads(int count = 0);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls `body(part)` once for each part in [0, parts), on any thread, and returns when all are done. Rethrows the
  // exception of the first part that failed.
  void run(std::int64_t parts, const std::function<void(std::int64_t)>& body);

  // Divides [0, size) into ranges of at most `grain` and calls `body(begin, end)` for each.
  void for_range(std::int64_t size, std::int64_t grain,
                 const std::function<void(std::int64_t, std::int64_t)>& body);

 private:
  void help();
  void take_parts();

  std::vector<std::thread> helpers_;
  Mutex mutex_;
  ConditionVariable started_, finished_;
  std::atomic<std::int64_t> generation_ = 0;       // number of the current call
  std::atomic<int> busy_ = 0;                      // helpers that have joined the current call
  bool is_open_ TUTTI_GUARDED_BY(mutex_) = false;  // helpers may still join the current call
  std::atomic<std::int64_t> next_part_ = 0;
  std::int64_t parts_ = 0;
  const std::function<void(std::int64_t)>* body_ = nullptr;
  std::exception_ptr error_ TUTTI_GUARDED_BY(mutex_);
  bool stops_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti::learn
