// Tiled operators, by kind. Internal to the library.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/operator_name.h>
#include <ATen/core/stack.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tutti::lms {

// Replaces the arguments at the end of the stack by the results of the operator. Returns false, and leaves the stack as
// it is, if the tensors are small or the arguments are not supported.
using TiledFunction = std::function<bool(const c10::OperatorHandle& op, torch::jit::Stack& stack)>;

struct TiledOperator {
  c10::OperatorName name;
  TiledFunction run;
};

// Elementwise operators, in place and out of place, and softmax. Tiles are ranges of memory.
std::vector<TiledOperator> elementwise_operators();
// Convolution and transposed convolution, forward and backward. Tiles are slabs of the first spatial dimension.
std::vector<TiledOperator> convolution_operators();
// Pooling and upsampling, which treat all channels alike. Tiles are channels.
std::vector<TiledOperator> channel_operators();
// Batch norm and group norm; instance norm calls batch norm. Tiles are channels and groups.
std::vector<TiledOperator> normalization_operators();
// Concatenation: copies in tiles.
std::vector<TiledOperator> concatenation_operators();

// The arguments of a call, and its results.
class Call {
 public:
  Call(const c10::OperatorHandle& op, torch::jit::Stack& stack)
      : stack_(stack), count_(op.schema().arguments().size()) {}

  const c10::IValue& operator[](std::size_t index) const {
    return stack_[stack_.size() - count_ + index];
  }
  std::size_t size() const { return count_; }
  // Returns an undefined tensor if the argument is None.
  at::Tensor tensor(std::size_t index) const {
    const c10::IValue& value = (*this)[index];
    return value.isTensor() ? value.toTensor() : at::Tensor();
  }
  std::vector<c10::IValue> arguments() const {
    return {stack_.end() - static_cast<std::ptrdiff_t>(count_), stack_.end()};
  }
  // True if the tensors exceed the size of a tile. `others`: bytes of the results.
  bool is_large(std::int64_t others = 0) const;
  // True if is_plain() holds for all tensors.
  bool is_plain() const;
  bool finish(std::vector<c10::IValue> results) {
    torch::jit::drop(stack_, count_);
    for (c10::IValue& result : results) stack_.push_back(std::move(result));
    return true;
  }

 private:
  torch::jit::Stack& stack_;
  std::size_t count_;
};

}  // namespace tutti::lms
