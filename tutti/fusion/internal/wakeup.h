// Rest of a thread that polls, until another thread has something for it.
#pragma once

#include <chrono>
#include <thread>
#include <utility>

#include "tutti/core/mutex.h"

namespace tutti::fusion {

// `signal` from every thread, the rest from the polling one.
class Wakeup {
 public:
  // Once is enough until the thread has looked: waking one costs more than submitting a tensor.
  void signal() {
    const MutexLock lock(mutex_);
    if (!std::exchange(has_news_, true)) changed_.notify_all();
  }
  // The thread is about to look at everything signalled so far.
  void clear() {
    const MutexLock lock(mutex_);
    has_news_ = false;
  }
  void note_progress() { idle_turns_ = 0; }
  // Returns after a signal, or after a while: a rank that waits for others polls often at first,
  // one that does not holds up no other rank and polls rarely.
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
