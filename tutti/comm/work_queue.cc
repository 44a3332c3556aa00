#include "tutti/comm/work_queue.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

constexpr std::chrono::nanoseconds kAtOnce{1};  // 0 would disarm the timer

// Exceptions become the outcome of the work and never leave the thread.
Result run_job(const WorkQueue::Job& job) {
  try {
    return job();
  } catch (const Error& error) {
    return Result::from(error);
  }
}

}  // namespace

void Work::State::complete(Result result) {
  const MutexLock lock(mutex);
  outcome = std::move(result);
  is_complete = true;
  changed.notify_all();
}

bool Work::is_complete() const {
  if (!state_) return true;
  const MutexLock lock(state_->mutex);
  return state_->is_complete;
}

void Work::wait() const {
  if (!state_) return;
  MutexLock lock(state_->mutex);
  if (!state_->is_complete) {
    lock.unlock();
    if (const auto queue = state_->queue.lock()) queue->finish(state_->number);
    if (state_->on_wait) state_->on_wait(true);
    lock.lock();
    while (!state_->is_complete) state_->changed.wait(lock);
    if (state_->on_wait) state_->on_wait(false);
  }
  state_->outcome.throw_if_error();
}

bool Work::wait_for(std::chrono::milliseconds limit) const {
  if (!state_) return true;
  MutexLock lock(state_->mutex);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!state_->is_complete && state_->changed.wait_until(lock, deadline)) {
  }
  return state_->is_complete;
}

WakeTimer::WakeTimer() : file_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
  if (file_ >= 0) return;
  throw IoError("DDL-4-20", std::string("Cannot create a timer (") + std::strerror(errno) +
                                "). Raise the limit of open files: ulimit -n.");
}

WakeTimer::~WakeTimer() {
  ::close(file_);
}

void WakeTimer::set(std::chrono::nanoseconds delay) {
  itimerspec time{};
  time.it_value.tv_nsec = delay.count();
  ::timerfd_settime(file_, 0, &time, nullptr);
}

void WakeTimer::wait() {
  std::uint64_t expirations = 0;
  [[maybe_unused]] const auto bytes = ::read(file_, &expirations, sizeof expirations);
}

Work WorkQueue::start(Job job) {
  auto state = std::make_shared<Work::State>();
  if (is_in_task()) {  // part of that task, which must not wait for later tasks
    state->complete(run_job(job));
    return Work(std::move(state));
  }
  state->queue = weak_from_this();
  state->number = push(
      [this, job = std::move(job), state] {
        Result outcome = run_job(job);
        // First idle, then complete: the thread that sees the work complete may run its next operation itself.
        count_down();
        state->complete(std::move(outcome));
        return Sequel();
      },
      kAtOnce);
  return Work(std::move(state));
}

std::uint64_t WorkQueue::add(Task task) {
  return push(std::move(task), kGrace);
}

std::uint64_t WorkQueue::push(Task task, std::chrono::nanoseconds delay) {
  MutexLock lock(mutex_);
  if (!timer_) timer_.emplace();
  pending_.fetch_add(1, std::memory_order_release);
  tasks_.push_back(std::move(task));
  const std::uint64_t number = ++given_;
  if (is_closed_) {
    lock.unlock();
    finish(number);
  } else {
    wake(delay);
  }
  return number;
}

void WorkQueue::wake(std::chrono::nanoseconds delay) {
  if (looking_ > 0) return;
  if (sleeping_ == 0) {
    ++sleeping_;
    threads_.emplace_back([this] { loop(); });
  }
  if (is_hurried_) return;  // setting it again would cancel the expiration
  is_hurried_ = delay == kAtOnce;
  timer_->set(delay);
}

void WorkQueue::hurry() {
  const MutexLock lock(mutex_);
  if (!tasks_.empty() && !is_closed_) wake(kAtOnce);
}

void WorkQueue::count_down() {
  if (std::exchange(is_counted_, false)) pending_.fetch_sub(1, std::memory_order_release);
}

void WorkQueue::run_next(Runner runner) {
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  runner_ = std::this_thread::get_id();
  is_counted_ = true;
  mutex_.unlock();
  Sequel sequel = task();
  task = nullptr;  // released before any thread sees that the task is done
  mutex_.lock();
  count_down();
  runner_ = std::thread::id();
  ++done_;
  changed_.notify_all();
  if (sequel) run_sequel(runner, std::move(sequel));
}

// While the sequel runs, this thread does not count as one that takes tasks.
void WorkQueue::run_sequel(Runner runner, Sequel sequel) {
  ++following_;
  if (runner == Runner::kOwnThread) --looking_;
  if (!tasks_.empty() && !is_closed_) wake(kAtOnce);
  mutex_.unlock();
  sequel();
  sequel = nullptr;
  mutex_.lock();
  if (runner == Runner::kOwnThread) ++looking_;
  --following_;
  changed_.notify_all();
}

void WorkQueue::finish(std::uint64_t number) {
  MutexLock lock(mutex_);
  while (done_ < number) {
    if (is_running()) {
      changed_.wait(lock);
    } else {
      run_next(Runner::kWaiter);
    }
  }
}

bool WorkQueue::wait(std::uint64_t number, std::chrono::milliseconds limit) {
  hurry();
  MutexLock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (done_ < number && changed_.wait_until(lock, deadline)) {
  }
  return done_ >= number;
}

void WorkQueue::drain() {
  MutexLock lock(mutex_);
  const std::uint64_t last = given_;
  lock.unlock();
  finish(last);
  lock.lock();
  while (following_ != 0) changed_.wait(lock);
}

void WorkQueue::close() {
  drain();
  MutexLock lock(mutex_);
  is_closed_ = true;
  std::vector<std::thread> threads = std::exchange(threads_, {});
  if (timer_) timer_->set(kAtOnce);
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
}

void WorkQueue::loop() {
  log::set_tag(tag_);
  MutexLock lock(mutex_);
  while (!is_closed_) {
    lock.unlock();
    timer_->wait();
    lock.lock();
    is_hurried_ = false;
    --sleeping_;
    ++looking_;
    while (!tasks_.empty()) {
      if (is_running()) {
        changed_.wait(lock);
      } else {
        run_next(Runner::kOwnThread);
      }
    }
    --looking_;
    ++sleeping_;
  }
  timer_->set(kAtOnce);  // for the next thread that must end
}

}  // namespace tutti::comm
