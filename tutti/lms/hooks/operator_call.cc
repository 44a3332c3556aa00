#include "tutti/lms/hooks/operator_call.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tutti/lms/hooks/compat.h"

namespace tutti::lms {
namespace {

constexpr std::array<std::string_view, 28> kRepeatable = {
    "aten::add",
    "aten::add_",
    "aten::cat",
    "aten::div",
    "aten::elu",
    "aten::gelu",
    "aten::hardtanh",
    "aten::leaky_relu",
    "aten::leaky_relu_",
    "aten::mul",
    "aten::mul_",
    "aten::native_batch_norm",
    "aten::native_group_norm",
    "aten::native_layer_norm",
    "aten::relu",
    "aten::relu_",
    "aten::sigmoid",
    "aten::silu",
    "aten::silu_",
    "aten::softplus",
    "aten::sub",
    "aten::tanh",
    "aten::upsample_bilinear2d",
    "aten::upsample_nearest1d",
    "aten::upsample_nearest2d",
    "aten::upsample_nearest3d",
    "aten::upsample_trilinear3d",
    "aten::_softmax",
};
static_assert(std::is_sorted(kRepeatable.begin(), kRepeatable.end() - 1));

constexpr std::size_t kLargestCopy = 256 << 10;  // bytes of an unmanaged tensor

thread_local int repetitions = 0;

struct Repetition {
  Repetition() { ++repetitions; }
  ~Repetition() { --repetitions; }
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;
};

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.layout() == at::kStrided && tensor.has_storage() &&
         !tensor.is_conj() && !tensor.is_neg() && !tensor.is_quantized() &&
         !tensor.key_set().has(c10::DispatchKey::Python);
}

// Calls `visit` for every defined tensor among the arguments.
template <class Visit>
void for_each_tensor(const std::vector<c10::IValue>& arguments, const Visit& visit) {
  for (const c10::IValue& value : arguments) {
    if (value.isTensor()) {
      if (value.toTensor().defined()) visit(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
    }
  }
}

// Batch norm of a training step updates its running statistics. Without them, the result is the same.
std::vector<c10::IValue> without_side_effects(const c10::OperatorName& name,
                                              std::vector<c10::IValue> arguments) {
  constexpr std::size_t kRunningMean = 3, kRunningVariance = 4, kIsTraining = 5;
  if (name.name != "aten::native_batch_norm" || !arguments.at(kIsTraining).toBool())
    return arguments;
  arguments[kRunningMean] = arguments[kRunningVariance] = c10::IValue();
  return arguments;
}

}  // namespace

bool is_repeating() {
  return repetitions > 0;
}

bool is_repeatable(std::string_view name) {
  return std::find(kRepeatable.begin(), kRepeatable.end(), name) != kRepeatable.end();
}

std::optional<std::vector<BlockRef>> OperatorCall::inputs_of(
    const std::vector<c10::IValue>& arguments, Pager& pager) {
  if (is_autocast_enabled()) return {};  // the operator may convert its arguments
  std::vector<BlockRef> inputs;
  bool is_possible = true;
  for_each_tensor(arguments, [&](const at::Tensor& tensor) {
    if (!is_plain(tensor)) {
      is_possible = false;
    } else if (const BlockRef ref = pager.find(tensor.storage().data())) {
      inputs.push_back(ref);
    } else {
      is_possible &= tensor.storage().nbytes() <= kLargestCopy;
    }
  });
  if (!is_possible) return {};
  return inputs;
}

OperatorCall::OperatorCall(const c10::OperatorName& name, const std::vector<c10::IValue>& arguments,
                           Pager& pager, const ProducerOf& producer_of)
    : name_(name) {
  const Repetition repetition;  // the copies are not part of the step
  const at::AutoDispatchBelowADInplaceOrView no_gradients;
  std::size_t inputs = 0;
  const auto argument_of = [&](const at::Tensor& tensor) {
    TensorArgument argument;
    argument.sizes = tensor.sizes().vec();
    argument.strides = tensor.strides().vec();
    argument.offset = tensor.storage_offset();
    argument.type = tensor.dtype();
    argument.block = pager.find(tensor.storage().data());
    if (argument.block) {
      argument.producer = producer_of(inputs++);
      if (!argument.producer) argument.storage = tensor.storage();
    } else {
      const at::Tensor copy = tensor.clone();
      argument.strides = copy.strides().vec();
      argument.offset = 0;
      argument.storage = copy.storage();
    }
    return argument;
  };
  for (const c10::IValue& value : without_side_effects(name, arguments)) {
    if (value.isTensor() && value.toTensor().defined()) {
      arguments_.emplace_back(argument_of(value.toTensor()));
    } else if (value.isTensorList()) {
      TensorList list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(argument_of(tensor));
      arguments_.emplace_back(std::move(list));
    } else {
      arguments_.emplace_back(value);
    }
  }
}

at::Tensor OperatorCall::tensor_of(const TensorArgument& argument, Pager& pager) {
  c10::Storage storage =
      argument.producer ? argument.producer->run(pager).storage() : argument.storage;
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), argument.type);
  tensor.unsafeGetTensorImpl()->set_storage_offset(argument.offset);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(argument.sizes, argument.strides);
  return tensor;
}

std::vector<BlockRef> OperatorCall::blocks() const {
  std::vector<BlockRef> blocks;
  const auto add = [&](const TensorArgument& argument) {
    if (argument.block && !argument.producer) blocks.push_back(argument.block);
  };
  for (const auto& argument : arguments_) {
    if (const auto* const tensor = std::get_if<TensorArgument>(&argument)) add(*tensor);
    if (const auto* const list = std::get_if<TensorList>(&argument))
      for (const TensorArgument& element : *list) add(element);
  }
  return blocks;
}

at::Tensor OperatorCall::run(Pager& pager) const {
  const Repetition repetition;
  const at::AutoDispatchBelowADInplaceOrView no_gradients;
  torch::jit::Stack stack;
  for (const auto& argument : arguments_) {
    if (const auto* const tensor = std::get_if<TensorArgument>(&argument)) {
      stack.emplace_back(tensor_of(*tensor, pager));
    } else if (const auto* const list = std::get_if<TensorList>(&argument)) {
      c10::List<at::Tensor> tensors;
      for (const TensorArgument& element : *list) tensors.push_back(tensor_of(element, pager));
      stack.emplace_back(std::move(tensors));
    } else {
      stack.push_back(std::get<c10::IValue>(argument));
    }
  }
  const std::vector<BlockRef> pins = blocks();
  pager.pin(pins);
  try {
    c10::Dispatcher::singleton()
        .findSchemaOrThrow(name_.name.c_str(), name_.overload_name.c_str())
        .callBoxed(&stack);
  } catch (...) {
    pager.unpin(pins);
    throw;
  }
  pager.unpin(pins);
  return stack.front().toTensor();
}

bool OperatorCall::reads(BlockRef ref) const {
  const auto is_read = [&](const TensorArgument& argument) {
    return argument.producer ? argument.producer->reads(ref) : argument.block == ref;
  };
  return std::any_of(arguments_.begin(), arguments_.end(), [&](const auto& argument) {
    if (const auto* const tensor = std::get_if<TensorArgument>(&argument)) return is_read(*tensor);
    if (const auto* const list = std::get_if<TensorList>(&argument))
      return std::any_of(list->begin(), list->end(), is_read);
    return false;
  });
}

}  // namespace tutti::lms
