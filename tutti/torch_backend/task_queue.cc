#include "tutti/torch_backend/task_queue.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/core/log.h"

namespace tutti::torch_backend {
namespace {

constexpr std::chrono::nanoseconds kAtOnce{1};  // 0 would disarm the timer

int make_timer() {
  const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (timer < 0) {
    throw IoError("DDL-4-20", std::string("No timer could be made (") + std::strerror(errno) +
                                  "). Raise the limit of open files: ulimit -n.");
  }
  return timer;
}

}  // namespace

TaskQueue::TaskQueue(std::string tag) : tag_(std::move(tag)), timer_(make_timer()) {}

TaskQueue::~TaskQueue() {
  close();
  ::close(timer_);
}

void TaskQueue::set_timer(std::chrono::nanoseconds delay) {
  itimerspec time{};
  time.it_value.tv_nsec = delay.count();
  ::timerfd_settime(timer_, 0, &time, nullptr);
}

void TaskQueue::wake(std::chrono::nanoseconds delay) {
  if (looking_ > 0) return;
  if (sleeping_ == 0) {
    ++sleeping_;
    threads_.emplace_back([this] { loop(); });
  }
  set_timer(delay);
}

std::uint64_t TaskQueue::add(Task task) {
  std::unique_lock lock(mutex_);
  tasks_.push_back(std::move(task));
  const std::uint64_t number = ++given_;
  if (is_closed_) {
    lock.unlock();
    finish(number);
  } else {
    wake(kGrace);
  }
  return number;
}

void TaskQueue::hurry() {
  const std::lock_guard lock(mutex_);
  if (!tasks_.empty() && !is_closed_) wake(kAtOnce);
}

void TaskQueue::run_next(std::unique_lock<std::mutex>& lock, Runner runner) {
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  is_running_ = true;
  lock.unlock();
  Sequel sequel = task();
  task = nullptr;  // what it holds goes before anybody learns that it is done
  lock.lock();
  is_running_ = false;
  ++done_;
  changed_.notify_all();
  if (!sequel) return;
  // For as long as the sequel takes, this thread is not one that looks.
  if (runner == Runner::kOwnThread) --looking_;
  if (!tasks_.empty() && !is_closed_) wake(kAtOnce);
  lock.unlock();
  sequel();
  sequel = nullptr;
  lock.lock();
  if (runner == Runner::kOwnThread) ++looking_;
}

void TaskQueue::finish(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  while (done_ < number) {
    if (is_running_) {
      changed_.wait(lock);
    } else {
      run_next(lock, Runner::kWaiter);
    }
  }
}

bool TaskQueue::wait(std::uint64_t number, std::chrono::milliseconds limit) {
  hurry();
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return done_ >= number; });
}

void TaskQueue::close() {
  std::unique_lock lock(mutex_);
  const std::uint64_t last = given_;
  lock.unlock();
  finish(last);
  lock.lock();
  is_closed_ = true;
  std::vector<std::thread> threads = std::exchange(threads_, {});
  lock.unlock();
  set_timer(kAtOnce);
  for (std::thread& thread : threads) thread.join();
}

void TaskQueue::loop() {
  log::set_tag(tag_);
  std::unique_lock lock(mutex_);
  while (!is_closed_) {
    lock.unlock();
    std::uint64_t expirations = 0;
    [[maybe_unused]] const auto bytes = ::read(timer_, &expirations, sizeof expirations);
    lock.lock();
    --sleeping_;
    ++looking_;
    while (!tasks_.empty()) {
      if (is_running_) {
        changed_.wait(lock);
      } else {
        run_next(lock, Runner::kOwnThread);
      }
    }
    --looking_;
    ++sleeping_;
  }
  set_timer(kAtOnce);  // for the next thread that is to end
}

}  // namespace tutti::torch_backend
