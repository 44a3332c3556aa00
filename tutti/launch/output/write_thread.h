// Dedicated thread for writes that may block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

namespace tutti::launch {

// Runs writes in order, so a pager, a stopped terminal or a stalled disk never blocks the caller. Not thread-safe.
class WriteThread {
 public:
  // `progressed` is called on the new thread after each write, with the pending bytes before and after it. It must not
  // block.
  using Progressed = std::function<void(std::size_t before, std::size_t after)>;
  explicit WriteThread(Progressed progressed);
  // Drops writes that have not started. Does not wait for a blocked write: its thread is detached.
  ~WriteThread();
  WriteThread(const WriteThread&) = delete;
  WriteThread& operator=(const WriteThread&) = delete;

  // `write` must own its data. `bytes` count as pending until it has returned.
  void post(std::size_t bytes, std::function<void()> write);
  std::size_t pending() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace tutti::launch
