// Calls of libtorch operators that can be repeated to recompute their result.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "tutti/lms/pager/pager.h"

namespace tutti::lms {

// True if the operator is deterministic and its result depends only on its arguments: activations, elementwise
// arithmetic, concatenation, upsampling and normalization.
bool is_repeatable(std::string_view name);

class OperatorCall;
// The call that produced the content of the n-th tensor argument; nullptr: use the tensor itself.
using ProducerOf = std::function<std::shared_ptr<const OperatorCall>(std::size_t n)>;

// A call with its arguments. Tensors of the pager are referenced, so their blocks exist as long as the call. Other
// tensors are copied. Immutable and thread-safe, except that the arguments must not be modified.
class OperatorCall {
 public:
  // Blocks of the tensor arguments, in order; tensors that the pager does not manage are skipped. Empty if the call
  // cannot be repeated: a tensor is not a plain CPU tensor, or unmanaged and large.
  static std::optional<std::vector<BlockRef>> inputs_of(const std::vector<c10::IValue>& arguments,
                                                        Pager& pager);

  // `producer_of` is called for each tensor that inputs_of() lists.
  OperatorCall(const c10::OperatorName& name, const std::vector<c10::IValue>& arguments,
               Pager& pager, const ProducerOf& producer_of);

  // Calls the producers and then the operator again. Returns its first result. Blocks are allocated and may be evicted,
  // so the budget is never exceeded. Throws as the operator does.
  at::Tensor run(Pager& pager) const;
  // True if the call or a producer reads the block.
  bool reads(BlockRef ref) const;

 private:
  // A tensor argument without its storage: its geometry and the source of its storage.
  struct TensorArgument {
    c10::Storage storage;  // empty if there is a producer
    std::shared_ptr<const OperatorCall> producer;
    BlockRef block;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0;
    caffe2::TypeMeta type;
  };
  using TensorList = std::vector<TensorArgument>;

  static at::Tensor tensor_of(const TensorArgument& argument, Pager& pager);
  std::vector<BlockRef> blocks() const;

  c10::OperatorName name_;
  std::vector<std::variant<c10::IValue, TensorArgument, TensorList>> arguments_;
};

// True while this thread repeats a call. Its operators and allocations are not part of the step.
bool is_repeating();

}  // namespace tutti::lms
