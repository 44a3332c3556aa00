// The queue under all asynchronous operations of a communicator, run sequentially in the order they
// were given.
//
// A task first stays in the queue: a thread that waits for it runs it, and those before it, with
// nothing handed over. A thread of the queue takes it when none has come within `kGrace`, or when
// `hurry` asks for it.
//
// A task may return a sequel, such as the callbacks of a future. It is not part of the task: the
// next task may begin meanwhile. It may even wait for a task that it adds; then another thread of
// the queue helps.
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
  // When given, called with true before a thread blocks in `wait`, and with false after.
  std::function<void(bool)> on_wait;
  // The task of a queue that completes this, if a waiting thread may run it.
  std::weak_ptr<WorkQueue> queue;
  std::uint64_t number = 0;

  void complete(Result result);
};

// Wakes a thread after a delay. Setting it costs less than waking a thread does.
class WakeTimer {
 public:
  WakeTimer();
  ~WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;

  void set(std::chrono::nanoseconds delay);
  // Returns when the time has come; one thread per `set` does.
  void wait();

 private:
  const int file_;
};

// Owned by a shared pointer. Safe from every thread.
class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  using Job = std::function<Result()>;
  using Sequel = std::function<void()>;  // may be empty
  using Task = std::function<Sequel()>;  // neither may throw
  static constexpr std::chrono::microseconds kGrace{50};

  // `tag`: the beginning of its threads' log lines.
  explicit WorkQueue(std::string tag) : tag_(std::move(tag)) {}
  ~WorkQueue() { close(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Runs `job` as soon as its turn comes; in a task of this queue, as a part of it. An Error that
  // it throws is its outcome.
  Work start(Job job);
  // Returns the number of the task, by which it is waited for. After `close` the task runs at once.
  std::uint64_t add(Task task);
  // Returns when the task is done. Runs it, and those before it, if no other thread does.
  void finish(std::uint64_t number);
  // The same without running it; false when `limit` has passed.
  bool wait(std::uint64_t number, std::chrono::milliseconds limit);
  // No thread is about to wait: one of the queue begins now.
  void hurry();
  // No task is waiting or running, so an operation may run on the calling thread at once.
  bool is_idle() const { return pending_.load(std::memory_order_acquire) == 0; }
  // Whether the calling thread is running a task of this queue.
  bool is_in_task() const { return runner_.load() == std::this_thread::get_id(); }
  // Runs what was given, and waits for the sequels. Not from a task or its sequel.
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
  // Has a thread look at the tasks after `delay`, if none does already.
  void wake(std::chrono::nanoseconds delay) TUTTI_REQUIRES(mutex_);

  const std::string tag_;
  std::optional<WakeTimer> timer_;  // made by the first task
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Task> tasks_ TUTTI_GUARDED_BY(mutex_);
  std::atomic<int> pending_ = 0;         // tasks that wait or run
  std::atomic<std::thread::id> runner_;  // of the running task; none: no task runs
  std::uint64_t given_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::uint64_t done_ TUTTI_GUARDED_BY(mutex_) = 0;
  bool is_counted_ = false;                           // in pending_: the running task
  bool is_hurried_ TUTTI_GUARDED_BY(mutex_) = false;  // the timer has been set to fire at once
  bool is_closed_ TUTTI_GUARDED_BY(mutex_) = false;
  int sleeping_ TUTTI_GUARDED_BY(mutex_) = 0;   // threads that wait for the timer
  int looking_ TUTTI_GUARDED_BY(mutex_) = 0;    // threads that take tasks until there are none
  int following_ TUTTI_GUARDED_BY(mutex_) = 0;  // sequels that run
  std::vector<std::thread> threads_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::comm
