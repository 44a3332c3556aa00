// An operation that runs on its own.
#pragma once

#include <chrono>
#include <memory>

#include "tutti/core/result.h"

namespace tutti::comm {

// A handle; copies mean the same operation. The buffers of the operation must live until it is
// complete, even when the handle is dropped. Safe from every thread.
class Work {
 public:
  struct State;
  Work() = default;  // complete
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool is_complete() const;
  // Blocks until complete; throws what made the operation fail. Runs operations that no thread has
  // begun yet on the calling thread.
  void wait() const;
  // Returns false when `limit` has passed before it is complete. Never throws what made it fail.
  bool wait_for(std::chrono::milliseconds limit) const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tutti::comm
