// Mutexes that clang's thread-safety analysis understands.
//
// std::mutex of libstdc++ carries no annotations, so the analysis cannot see when it is held. These wrappers have the
// same cost and semantics. TUTTI_GUARDED_BY names the mutex that guards a member, TUTTI_REQUIRES the mutex that the
// caller of a private function must hold. `scripts/run_tests.py clang` rejects an access without the lock. Other
// compilers ignore the annotations.
//
// The analysis does not look into lambdas that are called later: wait in a loop instead of passing a predicate,
//   while (queue_.empty()) changed_.wait(lock);
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define TUTTI_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define TUTTI_THREAD_ANNOTATION(x)
#endif

#define TUTTI_GUARDED_BY(mutex) TUTTI_THREAD_ANNOTATION(guarded_by(mutex))
#define TUTTI_REQUIRES(...) TUTTI_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define TUTTI_ACQUIRE(...) TUTTI_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define TUTTI_RELEASE(...) TUTTI_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
// For functions whose locking the analysis cannot express. State the reason next to it.
#define TUTTI_NO_THREAD_SAFETY_ANALYSIS TUTTI_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace tutti {

class TUTTI_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() TUTTI_ACQUIRE() { mutex_.lock(); }
  void unlock() TUTTI_RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex for a scope. unlock() and lock() release it and take it back within the scope.
class TUTTI_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TUTTI_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() TUTTI_RELEASE() {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() TUTTI_ACQUIRE() { lock_.lock(); }
  void unlock() TUTTI_RELEASE() { lock_.unlock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

// A condition variable for Mutex. The waits release the lock while they block and hold it again when they return; they
// may return spuriously.
class ConditionVariable {
 public:
  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  // Returns false once the deadline has passed.
  template <class Clock, class Duration>
  bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& deadline) {
    return changed_.wait_until(lock.lock_, deadline) == std::cv_status::no_timeout;
  }
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace tutti
