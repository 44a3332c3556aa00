// Queue of the asynchronous operations of a communicator. Runs tasks sequentially, in the order of submission.
//
// A new task stays in the queue first: a thread that waits for it runs it, and all before it, without a thread switch.
// If no thread waits within `kGrace`, or if `hurry` is called, a thread of the queue takes it.
//
// A task may return a sequel, such as the callbacks of a future. The sequel is not part of the task: the next task may
// start meanwhile. It may even wait for a task that it adds; another thread of the queue then runs that task.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tutti/comm/work.h"
#include "tutti/core/mutex.h"
#include "tutti/core/result.h"

namespace tutti::comm {

class WorkQueue;

struct Work::State {
  Mutex mutex;
  ConditionVariable changed;
  bool is_complete TUTTI_GUARDED_BY(mutex) = false;
  Result outcome TUTTI_GUARDED_BY(mutex) = Result::ok();
  // Called with true before a thread blocks in `wait`, and with false afterwards; may be empty.
  std::function<void(bool)> on_wait;
  // Queue of the task that completes this work, if a waiting thread may run it.
  std::weak_ptr<WorkQueue> queue;
  std::uint64_t number = 0;

  void complete(Result result);
};

// Wakes a thread after a delay. Setting the timer is cheaper than waking a thread.
class WakeTimer {
 public:
  WakeTimer();
  ~WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;

  void set(std::chrono::nanoseconds delay);
  // Returns when the timer expires; wakes one thread per `set`.
  void wait();

 private:
  const int file_;
};

// Must be owned by a shared pointer. Thread-safe.
class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  using Job = std::function<Result()>;
  using Sequel = std::function<void()>;  // may be empty
  using Task = std::function<Sequel()>;  // neither may throw
  static constexpr std::chrono::microseconds kGrace{50};

  // `tag`: prefix of the log lines of its threads.
  explicit WorkQueue(std::string tag) : tag_(std::move(tag)) {}
  ~WorkQueue() { close(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Runs `job` when its turn comes; inside a task of this queue, as part of that task. An Error that it throws becomes
  // its outcome.
  Work start(Job job);
  // Returns the number of the task, for `finish` and `wait`. After `close` the task runs immediately.
  std::uint64_t add(Task task);
  // Returns when the task is done. Runs it, and all before it, if no other thread does.
  void finish(std::uint64_t number);
  // The same without running it; returns false after `limit`.
  bool wait(std::uint64_t number, std::chrono::milliseconds limit);
  // No thread is about to wait: a thread of the queue starts now.
  void hurry();
  // True if no task is waiting or running, so an operation may run on the calling thread immediately.
  bool is_idle() const { return pending_.load(std::memory_order_acquire) == 0; }
  // True if the calling thread is running a task of this queue.
  bool is_in_task() const { return runner_.load() == std::this_thread::get_id(); }
  // Runs all tasks and waits for the sequels. Must not be called from a task or its sequel.
  void drain();
  // The same, then ends the threads.
  void close();

 private:
  enum class Runner { kOwnThread, kWaiter };
  std::uint64_t push(Task task, std::chrono::nanoseconds delay);
  void run_next(Runner runner) TUTTI_REQUIRES(mutex_);
  void run_sequel(Runner runner, Sequel sequel) TUTTI_REQUIRES(mutex_);
  void count_down();
  bool is_running() const { return runner_.load() != std::thread::id(); }
  void loop();
  // Lets a thread look for tasks after `delay`, if none is doing so already.
  void wake(std::chrono::nanoseconds delay) TUTTI_REQUIRES(mutex_);

  const std::string tag_;
  std::optional<WakeTimer> timer_;  // created by the first task
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Task> tasks_ TUTTI_GUARDED_BY(mutex_);
  std::atomic<int> pending_ = 0;         // tasks that wait or run
  std::atomic<std::thread::id> runner_;  // thread of the running task
  std::uint64_t given_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::uint64_t done_ TUTTI_GUARDED_BY(mutex_) = 0;
  bool is_counted_ = false;  // the running task is counted in pending_
  bool is_hurried_ TUTTI_GUARDED_BY(mutex_) =
      false;  // the timer has been set to expire immediately
  bool is_closed_ TUTTI_GUARDED_BY(mutex_) = false;
  int sleeping_ TUTTI_GUARDED_BY(mutex_) = 0;   // threads that wait for the timer
  int looking_ TUTTI_GUARDED_BY(mutex_) = 0;    // threads that take tasks until none is left
  int following_ TUTTI_GUARDED_BY(mutex_) = 0;  // running sequels
  std::vector<std::thread> threads_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::comm
