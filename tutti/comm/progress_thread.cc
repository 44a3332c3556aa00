#include "tutti/comm/progress_thread.h"

#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

// Nothing may leave the thread but by the work's outcome.
Result run_job(const ProgressThread::Job& job) {
  try {
    return job();
  } catch (const Error& error) {
    return Result::from(error);
  }
}

}  // namespace

void Work::State::complete(Result result) {
  const std::lock_guard lock(mutex);
  outcome = std::move(result);
  is_complete = true;
  changed.notify_all();
}

bool Work::is_complete() const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->is_complete;
}

void Work::wait() const {
  if (!state_) return;
  const bool is_shown = state_->on_wait && !is_complete();
  if (is_shown) state_->on_wait(true);
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->is_complete; });
  if (is_shown) state_->on_wait(false);
  state_->outcome.raise();
}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Work ProgressThread::start(Job job) {
  auto state = std::make_shared<Work::State>();
  const std::lock_guard lock(mutex_);
  pending_.fetch_add(1, std::memory_order_release);
  jobs_.emplace_back(std::move(job), state);
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  changed_.notify_all();
  return Work(std::move(state));
}

void ProgressThread::loop() {
  log::set_tag(tag_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    auto [job, state] = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    Result outcome = run_job(job);
    // First idle, then complete: whoever sees the work complete may run its next operation by
    // itself.
    pending_.fetch_sub(1, std::memory_order_release);
    state->complete(std::move(outcome));
    lock.lock();
  }
}

}  // namespace tutti::comm
