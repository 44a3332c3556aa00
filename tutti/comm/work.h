// An operation that runs on its own.
#pragma once

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
  // Blocks until complete; throws what made the operation fail.
  void wait() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tutti::comm
