#include "tutti/learn/base/threads.h"

#include <algorithm>

#include "tutti/core/mutex.h"
#include "tutti/os/cpus.h"

namespace tutti::learn {
namespace {

constexpr int kPolls = 2000;  // number of polls before a thread sleeps

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Threads::Threads(int count) {
  if (count < 1) count = os::allowed_cpu_count();
  for (int i = 1; i < count; ++i) helpers_.emplace_back([this] { help(); });
}

Threads::~Threads() {
  {
    const MutexLock lock(mutex_);
    stops_ = true;
    ++generation_;
  }
  started_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Threads::run(std::int64_t parts, const std::function<void(std::int64_t)>& body) {
  if (parts <= 1 || helpers_.empty()) {
    for (std::int64_t part = 0; part < parts; ++part) body(part);
    return;
  }
  {
    const MutexLock lock(mutex_);
    body_ = &body;
    parts_ = parts;
    next_part_ = 0;
    error_ = nullptr;
    is_open_ = true;
    ++generation_;
  }
  started_.notify_all();
  take_parts();
  // The other threads are about to finish their last part, so sleeping would cost more than polling. A helper that has
  // not joined yet, for example because its CPU is busy, is not waited for.
  for (int i = 0; i < kPolls && busy_.load(std::memory_order_relaxed) != 0; ++i) pause();
  MutexLock lock(mutex_);
  is_open_ = false;
  while (busy_ != 0) finished_.wait(lock);
  if (error_) std::rethrow_exception(error_);
}

void Threads::for_range(std::int64_t size, std::int64_t grain,
                        const std::function<void(std::int64_t, std::int64_t)>& body) {
  run((size + grain - 1) / grain,
      [&](std::int64_t part) { body(part * grain, std::min(size, (part + 1) * grain)); });
}

void Threads::take_parts() {
  for (std::int64_t part; (part = next_part_++) < parts_;) {
    try {
      (*body_)(part);
    } catch (...) {
      const MutexLock lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_part_ = parts_;
    }
  }
}

void Threads::help() {
  for (std::int64_t seen = 0;;) {
    // A fit makes calls in quick succession, so poll for a short time before sleeping.
    for (int i = 0; i < kPolls && generation_.load(std::memory_order_relaxed) == seen; ++i) pause();
    {
      MutexLock lock(mutex_);
      while (generation_ == seen) started_.wait(lock);
      seen = generation_;
      if (stops_) return;
      if (!is_open_) continue;
      ++busy_;
    }
    take_parts();
    const MutexLock lock(mutex_);
    if (--busy_ == 0) finished_.notify_one();
  }
}

}  // namespace tutti::learn
