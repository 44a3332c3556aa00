// Wait with backoff for a polling thread, interrupted by a signal from another thread.
#pragma once

#include <chrono>
#include <thread>
#include <utility>

#include "tutti/core/mutex.h"

namespace tutti::fusion {

// Any thread may call `signal`; the other functions are for the polling thread.
class Wakeup {
 public:
  // Notifies only once until the thread calls clear(): a notification costs more than submitting a tensor.
  void signal() {
    const MutexLock lock(mutex_);
    if (!std::exchange(has_news_, true)) changed_.notify_all();
  }
  // Called before the thread examines all work signalled so far.
  void clear() {
    const MutexLock lock(mutex_);
    has_news_ = false;
  }
  void note_progress() { idle_turns_ = 0; }
  // Returns after a signal or a pause. A thread that waits for other ranks polls frequently at first; an idle thread
  // delays no other rank and polls rarely.
  void rest(bool is_waiting) {
    ++idle_turns_;
    MutexLock lock(mutex_);
    if (!has_news_ && is_waiting && idle_turns_ <= kYields) {
      lock.unlock();
      return std::this_thread::yield();
    }
    const auto length = !is_waiting                  ? kIdleRest
                        : idle_turns_ <= kShortRests ? kShortRest
                                                     : kLongRest;
    const auto deadline = std::chrono::steady_clock::now() + length;
    while (!has_news_ && changed_.wait_until(lock, deadline)) {
    }
    if (has_news_) idle_turns_ = 0;
  }

 private:
  static constexpr int kYields = 20, kShortRests = 500;
  static constexpr std::chrono::microseconds kShortRest{40}, kLongRest{200}, kIdleRest{20'000};

  Mutex mutex_;
  ConditionVariable changed_;
  bool has_news_ TUTTI_GUARDED_BY(mutex_) = false;
  int idle_turns_ = 0;
};

}  // namespace tutti::fusion
