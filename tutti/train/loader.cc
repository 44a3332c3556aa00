#include "tutti/train/loader.h"

namespace tutti::train {

Loader::Loader(Task& task, Sampler sampler, std::int64_t first)
    : task_(task), sampler_(std::move(sampler)), step_(first), thread_([this] { run(); }) {}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Batch Loader::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || failure_; });
  if (ready_.empty()) std::rethrow_exception(failure_);
  Batch batch = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return batch;
}

void Loader::run() try {
  for (;; ++step_) {
    Batch batch = task_.load(sampler_.indices(step_));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_.size() < kAhead || stops_; });
    if (stops_) return;
    ready_.push_back(std::move(batch));
    changed_.notify_all();
  }
} catch (...) {
  const std::lock_guard lock(mutex_);
  failure_ = std::current_exception();
  changed_.notify_all();
}

}  // namespace tutti::train
