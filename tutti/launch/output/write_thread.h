// Writes that may block, on a dedicated thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

namespace tutti::launch {

// Runs writes in order, so a pager, a stopped terminal or a stalled disk never blocks the caller.
// One thread may call it.
class WriteThread {
 public:
  // `progressed` is called on the new thread after each write, with the pending bytes before and
  // after it; it must not block.
  using Progressed = std::function<void(std::size_t before, std::size_t after)>;
  explicit WriteThread(Progressed progressed);
  // Drops writes that have not begun. Does not wait for one that blocks: that thread is detached.
  ~WriteThread();
  WriteThread(const WriteThread&) = delete;
  WriteThread& operator=(const WriteThread&) = delete;

  // `write` must own what it uses. `bytes` count as pending until it has returned.
  void post(std::size_t bytes, std::function<void()> write);
  std::size_t pending() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace tutti::launch
