// Operations of a process group, one after the other, in the order they were given.
//
// torch gives every operation as asynchronous, and then mostly waits for it at once. So a task
// first stays where it is: whoever waits for it runs it, on his own thread, with nothing handed
// over. A thread of the queue takes it when nobody has come within `kGrace`, or when somebody says
// `hurry`.
//
// What follows a task, the callbacks of its future, is no part of it: the next task may begin
// meanwhile. It may even wait for a task that it adds; then another thread of the queue helps.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tutti::torch_backend {

// Safe from every thread.
class TaskQueue {
 public:
  using Sequel = std::function<void()>;  // may be empty
  using Task = std::function<Sequel()>;  // neither may throw
  static constexpr std::chrono::microseconds kGrace{50};

  // `tag`: how the log lines of its threads begin.
  explicit TaskQueue(std::string tag);
  ~TaskQueue();  // closes
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // The number of the task, by which it is waited for. After `close` it is run at once.
  std::uint64_t add(Task task);
  // Returns when the task is done. Runs it, and those before it, if nobody does.
  void finish(std::uint64_t number);
  // The same without running it; false when `limit` has passed.
  bool wait(std::uint64_t number, std::chrono::milliseconds limit);
  // Nobody is about to wait: a thread begins now.
  void hurry();
  // Runs what was given, then ends the threads. Not from a task or its sequel.
  void close();

 private:
  enum class Runner { kOwnThread, kWaiter };
  void run_next(std::unique_lock<std::mutex>& lock, Runner runner);
  void loop();
  // Has a thread look at the tasks after `delay`, if none does already.
  void wake(std::chrono::nanoseconds delay);
  void set_timer(std::chrono::nanoseconds delay);

  const std::string tag_;
  const int timer_;  // wakes a thread; setting it costs less than waking does
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::uint64_t given_ = 0;
  std::uint64_t done_ = 0;
  bool is_running_ = false;  // a task, on whatever thread
  bool is_closed_ = false;
  int sleeping_ = 0;  // threads that wait for the timer
  int looking_ = 0;   // threads that take tasks until there are none
  std::vector<std::thread> threads_;
};

}  // namespace tutti::torch_backend
