#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tutti/lms/tiling/operators.h"
#include "tutti/lms/tiling/tile_size.h"
#include "tutti/lms/tiling/tiles.h"

namespace tutti::lms {
namespace {

using at::Tensor;
using c10::IValue;

// An elementwise operator runs in these steps:
//
// 1. The tensor arguments are broadcast to a common size. If they and the result fit into a tile, the operator runs
//    untiled.
// 2. The operator is called for one element, which determines the type of the result.
// 3. The result is allocated with the memory format of the first dense argument, and divided into tiles that are ranges
//    of its memory.
// 4. For each tile, the overload with an output tensor is called on views of the arguments and of the result.
//
// Operators in place call themselves on views. Softmax keeps its dimension whole and copies each tile, because its
// kernels require contiguous tensors.

// An operator and its overload that writes to a given tensor.
struct WithOutput {
  const char* name;
  const char* overload;
  const char* output;      // overload
  int whole_argument = 0;  // of the dimension that cannot be divided; 0: all can
};

constexpr WithOutput kWithOutput[] = {
    {"aten::_log_softmax", "", "out", 1},
    {"aten::_log_softmax_backward_data", "", "out", 2},
    {"aten::_softmax", "", "out", 1},
    {"aten::_softmax_backward_data", "", "out", 2},
    {"aten::abs", "", "out"},
    {"aten::add", "Tensor", "out"},
    {"aten::bitwise_and", "Tensor", "Tensor_out"},
    {"aten::bitwise_not", "", "out"},
    {"aten::clamp", "", "out"},
    {"aten::clamp_max", "", "out"},
    {"aten::clamp_min", "", "out"},
    {"aten::div", "Tensor", "out"},
    {"aten::elu", "", "out"},
    {"aten::elu_backward", "", "grad_input"},
    {"aten::eq", "Scalar", "Scalar_out"},
    {"aten::eq", "Tensor", "Tensor_out"},
    {"aten::exp", "", "out"},
    {"aten::ge", "Scalar", "Scalar_out"},
    {"aten::ge", "Tensor", "Tensor_out"},
    {"aten::gelu", "", "out"},
    {"aten::gelu_backward", "", "grad_input"},
    {"aten::gt", "Scalar", "Scalar_out"},
    {"aten::gt", "Tensor", "Tensor_out"},
    {"aten::hardsigmoid", "", "out"},
    {"aten::hardsigmoid_backward", "", "grad_input"},
    {"aten::hardswish", "", "out"},
    {"aten::hardtanh", "", "out"},
    {"aten::hardtanh_backward", "", "grad_input"},
    {"aten::le", "Scalar", "Scalar_out"},
    {"aten::le", "Tensor", "Tensor_out"},
    {"aten::leaky_relu", "", "out"},
    {"aten::leaky_relu_backward", "", "grad_input"},
    {"aten::log", "", "out"},
    {"aten::logical_and", "", "out"},
    {"aten::logical_not", "", "out"},
    {"aten::logical_or", "", "out"},
    {"aten::lt", "Scalar", "Scalar_out"},
    {"aten::lt", "Tensor", "Tensor_out"},
    {"aten::maximum", "", "out"},
    {"aten::minimum", "", "out"},
    {"aten::mul", "Tensor", "out"},
    {"aten::ne", "Scalar", "Scalar_out"},
    {"aten::ne", "Tensor", "Tensor_out"},
    {"aten::neg", "", "out"},
    {"aten::pow", "Tensor_Scalar", "Tensor_Scalar_out"},
    {"aten::reciprocal", "", "out"},
    {"aten::relu", "", "out"},
    {"aten::rsqrt", "", "out"},
    {"aten::sigmoid", "", "out"},
    {"aten::sigmoid_backward", "", "grad_input"},
    {"aten::sign", "", "out"},
    {"aten::silu", "", "out"},
    {"aten::silu_backward", "", "grad_input"},
    {"aten::softplus", "", "out"},
    {"aten::softplus_backward", "", "grad_input"},
    {"aten::sqrt", "", "out"},
    {"aten::sub", "Tensor", "out"},
    {"aten::tanh", "", "out"},
    {"aten::tanh_backward", "", "grad_input"},
    {"aten::threshold_backward", "", "grad_input"},
    {"aten::where", "self", "self_out"},
};

constexpr std::pair<const char*, const char*> kInPlace[] = {
    {"aten::add_", "Tensor"},  {"aten::addcdiv_", ""},
    {"aten::addcmul_", ""},    {"aten::clamp_", ""},
    {"aten::clamp_max_", ""},  {"aten::clamp_min_", ""},
    {"aten::copy_", ""},       {"aten::div_", "Tensor"},
    {"aten::elu_", ""},        {"aten::fill_", "Scalar"},
    {"aten::fill_", "Tensor"}, {"aten::hardtanh_", ""},
    {"aten::leaky_relu_", ""}, {"aten::masked_fill_", "Scalar"},
    {"aten::mul_", "Tensor"},  {"aten::neg_", ""},
    {"aten::relu_", ""},       {"aten::sigmoid_", ""},
    {"aten::silu_", ""},       {"aten::sqrt_", ""},
    {"aten::sub_", "Tensor"},  {"aten::tanh_", ""},
    {"aten::zero_", ""},
};

// The tensor arguments of an elementwise call, and the sizes to which they are broadcast.
class Operands {
 public:
  explicit Operands(const Call& call) {
    for (std::size_t i = 0; i < call.size(); ++i) {
      Tensor tensor = call.tensor(i);
      if (!tensor.defined()) continue;
      sizes_ = tensors_.empty() ? tensor.sizes().vec() : at::infer_size(sizes_, tensor.sizes());
      tensors_.emplace_back(i, std::move(tensor));
    }
  }
  bool is_empty() const { return tensors_.empty(); }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  // The first operand that is dense and not broadcast; undefined if there is none.
  Tensor first_dense() const {
    for (const auto& [index, tensor] : tensors_)
      if (tensor.sizes() == sizes_ && tensor.is_non_overlapping_and_dense()) return tensor;
    return {};
  }
  std::int64_t bytes_per_element() const {
    std::int64_t bytes = 0;
    for (const auto& [index, tensor] : tensors_)
      if (tensor.sizes() == sizes_) bytes += static_cast<std::int64_t>(tensor.itemsize());
    return bytes;
  }
  // Replaces the tensors in a list of arguments by their parts.
  void set_parts(std::vector<IValue>& arguments, const Tile& tile) const {
    for (const auto& [index, tensor] : tensors_)
      if (tensor.dim() > 0) arguments[index] = part_of(tensor, tile, sizes_);
  }

 private:
  std::vector<std::pair<std::size_t, Tensor>> tensors_;  // with the index of the argument
  std::vector<std::int64_t> sizes_;
};

std::int64_t numel_of(at::IntArrayRef sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

Tensor call_with(const c10::OperatorHandle& op, std::vector<IValue> arguments) {
  op.callBoxed(&arguments);
  return arguments.front().toTensor();
}

bool run_with_output(const c10::OperatorHandle& op, const c10::OperatorHandle& output_op,
                     int whole_argument, torch::jit::Stack& stack) {
  Call call(op, stack);
  if (!call.is_plain()) return false;
  const Operands operands(call);
  const auto& sizes = operands.sizes();
  if (operands.is_empty() || sizes.empty()) return false;
  const std::int64_t input_bytes = operands.bytes_per_element();
  if (numel_of(sizes) * (input_bytes + 1) <= tile_bytes()) return false;
  std::int64_t whole = -1;
  if (whole_argument > 0) {
    whole = call[static_cast<std::size_t>(whole_argument)].toInt();
    if (whole < 0) whole += static_cast<std::int64_t>(sizes.size());
  }
  std::vector<IValue> arguments = call.arguments();
  const Tile one{std::vector<std::int64_t>(sizes.size(), 0),
                 std::vector<std::int64_t>(sizes.size(), 1)};
  operands.set_parts(arguments, one);
  const auto type = call_with(op, arguments).scalar_type();
  const Tensor dense = operands.first_dense();
  const Tensor output = dense.defined() ? at::empty_like(dense, dense.options().dtype(type))
                                        : at::empty(sizes, at::TensorOptions().dtype(type));
  const std::int64_t bytes = input_bytes + static_cast<std::int64_t>(output.itemsize());
  for (const Tile& tile :
       tiles_of(sizes, output.strides(), std::max<std::int64_t>(1, tile_bytes() / bytes), whole)) {
    operands.set_parts(arguments, tile);
    Tensor part = part_of(output, tile, sizes);
    if (whole >= 0) {  // softmax reads and writes only contiguous tensors
      for (IValue& value : arguments)
        if (value.isTensor()) value = value.toTensor().contiguous();
      part.copy_(call_with(op, arguments));
      continue;
    }
    std::vector<IValue> with_output = arguments;
    with_output.emplace_back(std::move(part));
    call_with(output_op, std::move(with_output));
  }
  return call.finish({output});
}

bool run_in_place(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  Call call(op, stack);
  const Tensor self = call.tensor(0);
  if (!call.is_plain() || self.dim() == 0) return false;
  const Operands operands(call);
  const std::int64_t bytes = operands.bytes_per_element();
  if (operands.sizes() != self.sizes() || self.numel() * bytes <= tile_bytes()) return false;
  std::vector<IValue> arguments = call.arguments();
  for (const Tile& tile :
       tiles_of(self.sizes(), self.strides(), std::max<std::int64_t>(1, tile_bytes() / bytes))) {
    operands.set_parts(arguments, tile);
    call_with(op, arguments);
  }
  return call.finish({self});
}

}  // namespace

std::vector<TiledOperator> elementwise_operators() {
  std::vector<TiledOperator> operators;
  for (const WithOutput& each : kWithOutput) {
    const auto output_op = c10::Dispatcher::singleton().findSchema({each.name, each.output});
    if (!output_op) continue;
    operators.push_back({{each.name, each.overload},
                         [output_op = *output_op, whole = each.whole_argument](
                             const c10::OperatorHandle& op, torch::jit::Stack& stack) {
                           return run_with_output(op, output_op, whole, stack);
                         }});
  }
  for (const auto& [name, overload] : kInPlace)
    operators.push_back({{name, overload}, &run_in_place});
  return operators;
}

}  // namespace tutti::lms
