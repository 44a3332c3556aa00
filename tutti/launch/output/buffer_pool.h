// Pool of reusable buffers with shared ownership.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tutti/core/mutex.h"

namespace tutti::launch {

// Allocates buffers of one size. A buffer returns to the pool when its last owner releases it, on any thread, also
// after the pool has been destroyed. Thread-safe.
class BufferPool {
 public:
  using Buffer = std::vector<char>;

  explicit BufferPool(std::size_t bytes) : state_(std::make_shared<State>(bytes)) {}

  std::shared_ptr<Buffer> get() {
    std::unique_ptr<Buffer> buffer = state_->take();
    return {buffer.release(), [state = state_](Buffer* one) { state->put_back(one); }};
  }

 private:
  static constexpr std::size_t kMostFree = 64;
  struct State {
    explicit State(std::size_t bytes_each) : bytes(bytes_each) {}
    std::unique_ptr<Buffer> take() {
      const MutexLock lock(mutex);
      if (free.empty()) return std::make_unique<Buffer>(bytes);
      std::unique_ptr<Buffer> buffer = std::move(free.back());
      free.pop_back();
      return buffer;
    }
    void put_back(Buffer* buffer) {
      std::unique_ptr<Buffer> owner(buffer);
      const MutexLock lock(mutex);
      if (free.size() < kMostFree) free.push_back(std::move(owner));
    }
    std::size_t bytes;
    Mutex mutex;
    std::vector<std::unique_ptr<Buffer>> free TUTTI_GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_;
};

}  // namespace tutti::launch
