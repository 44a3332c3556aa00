#include "tutti/launch/output/write_thread.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <utility>

#include "tutti/core/mutex.h"

namespace tutti::launch {
namespace {

constexpr std::chrono::milliseconds kJoinTime(100);

}  // namespace

struct WriteThread::State {
  struct Item {
    std::size_t bytes;
    std::function<void()> write;
  };

  void run() {
    for (;;) {
      MutexLock lock(mutex);
      while (!is_closing && items.empty()) changed.wait(lock);
      if (is_closing) {
        has_ended = true;
        changed.notify_all();
        return;
      }
      Item item = std::move(items.front());
      items.pop_front();
      lock.unlock();
      item.write();
      item.write = nullptr;  // frees its data before the bytes stop counting
      const std::size_t before = pending.fetch_sub(item.bytes);
      progressed(before, before - item.bytes);
    }
  }

  Progressed progressed;
  Mutex mutex;
  ConditionVariable changed;
  std::deque<Item> items TUTTI_GUARDED_BY(mutex);
  std::atomic<std::size_t> pending = 0;
  bool is_closing TUTTI_GUARDED_BY(mutex) = false;
  bool has_ended TUTTI_GUARDED_BY(mutex) = false;
};

WriteThread::WriteThread(Progressed progressed) : state_(std::make_shared<State>()) {
  state_->progressed = std::move(progressed);
  // Blocks all signals: they are for the thread that waits for them and must not interrupt a write.
  sigset_t all, old;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  thread_ = std::thread([state = state_] { state->run(); });
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

WriteThread::~WriteThread() {
  MutexLock lock(state_->mutex);
  state_->is_closing = true;
  state_->changed.notify_all();
  const auto deadline = std::chrono::steady_clock::now() + kJoinTime;
  while (!state_->has_ended && state_->changed.wait_until(lock, deadline)) {
  }
  const bool has_ended = state_->has_ended;
  lock.unlock();
  has_ended ? thread_.join() : thread_.detach();
}

void WriteThread::post(std::size_t bytes, std::function<void()> write) {
  state_->pending += bytes;
  {
    const MutexLock lock(state_->mutex);
    state_->items.push_back({bytes, std::move(write)});
  }
  state_->changed.notify_all();
}

std::size_t WriteThread::pending() const {
  return state_->pending;
}

}  // namespace tutti::launch
