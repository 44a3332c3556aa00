// The one thread of a communicator that runs its asynchronous operations, in the order they were
// given.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tutti/comm/work.h"
#include "tutti/core/result.h"

namespace tutti::comm {

struct Work::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_complete = false;
  Result outcome = Result::ok();
  // When given, called with true before a thread blocks in `wait`, and with false after.
  std::function<void(bool)> on_wait;

  void complete(Result result);
};

class ProgressThread {
 public:
  using Job = std::function<Result()>;

  // `tag`: how the thread's log lines begin.
  explicit ProgressThread(std::string tag) : tag_(std::move(tag)) {}
  // Runs what was given before, then ends the thread.
  ~ProgressThread();

  Work start(Job job);
  // No operation is waiting or running.
  bool is_idle() const { return pending_.load(std::memory_order_acquire) == 0; }

 private:
  void loop();

  const std::string tag_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Job, std::shared_ptr<Work::State>>> jobs_;
  std::atomic<int> pending_ = 0;
  bool is_ending_ = false;
  std::thread thread_;  // started by the first job
};

}  // namespace tutti::comm
