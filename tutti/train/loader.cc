#include "tutti/train/loader.h"

namespace tutti::train {

Loader::Loader(DataSet& data, Sampler sampler)
    : data_(data), sampler_(std::move(sampler)), thread_([this] { run(); }) {}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Loader::ask(std::int64_t step, std::int64_t part) {
  const std::lock_guard lock(mutex_);
  asked_.emplace_back(step, part);
  changed_.notify_all();
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
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return (!asked_.empty() && ready_.size() < kAhead) || stops_; });
    if (stops_) return;
    const auto [step, part] = asked_.front();
    asked_.pop_front();
    lock.unlock();
    Batch batch = data_.load(sampler_.indices(step, part));
    lock.lock();
    ready_.push_back(std::move(batch));
    changed_.notify_all();
  }
} catch (...) {
  const std::lock_guard lock(mutex_);
  failure_ = std::current_exception();
  changed_.notify_all();
}

}  // namespace tutti::train
