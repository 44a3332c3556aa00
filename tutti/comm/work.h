// Handle of an asynchronous operation.
#pragma once

#include <chrono>
#include <memory>

#include "tutti/core/result.h"

namespace tutti::comm {

// Copies refer to the same operation. The buffers must stay alive until the operation is complete, even if the handle
// is dropped. Thread-safe.
class Work {
 public:
  struct State;
  Work() = default;  // a completed operation
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool is_complete() const;
  // Blocks until the operation is complete; throws its failure. Runs operations that no thread has started on the
  // calling thread.
  void wait() const;
  // Returns false if the operation is not complete after `limit`. Does not throw the failure of the operation.
  bool wait_for(std::chrono::milliseconds limit) const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tutti::comm
