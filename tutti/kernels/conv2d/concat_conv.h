// Autograd function for a convolution of several images whose channels are concatenated. `Kernels` provides the
// computation.
#pragma once

#include <torch/autograd.h>
#include <torch/types.h>

#include "tutti/kernels/amx/conv_shape.h"
#include "tutti/kernels/conv2d/images.h"
#include "tutti/kernels/operator_scope.h"

namespace tutti::kernels {

// Kernels has these static members:
//   kType: scalar type of inputs and output, whose channels are contiguous
//   forward(shape, inputs, weight, bias, has_relu, output)
//   weight_gradients(shape, inputs, gradient, sign): returns the gradients of weight and bias
//   input_gradients(shape, gradient, sign, weight, inputs, results): fills the defined results, one per input
// If `sign` is defined, the gradient is treated as zero where `sign` is not positive.
template <class Kernels>
struct ConcatConv : torch::autograd::Function<ConcatConv<Kernels>> {
  using Tensor = torch::Tensor;
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  static Tensor forward(Context* context, const Tensor& weight, const Tensor& bias,
                        at::TensorList inputs, std::int64_t stride, std::int64_t dilation,
                        bool has_relu) {
    List saved(inputs.begin(), inputs.end());
    saved.push_back(weight);
    const OperatorScope scope("tutti::conv", saved);
    const ConvShape shape = shape_of(inputs, weight, stride, dilation);
    const Tensor output = empty_image(
        {shape.images, shape.out, shape.out_height(), shape.out_width()}, Kernels::kType);
    Kernels::forward(shape, inputs, weight, bias, has_relu, output);
    if (has_relu) saved.push_back(output);
    context->save_for_backward(saved);
    context->saved_data["stride"] = stride;
    context->saved_data["dilation"] = dilation;
    context->saved_data["inputs"] = std::int64_t(inputs.size());
    return output;
  }

  static List backward(Context* context, List gradients) {
    const auto saved = context->get_saved_variables();
    const auto count = static_cast<std::size_t>(context->saved_data["inputs"].toInt());
    const OperatorScope scope("tutti::conv_backward", saved);
    const at::TensorList inputs(saved.data(), count);
    const Tensor &weight = saved[count], sign = saved.size() > count + 1 ? saved.back() : Tensor();
    const ConvShape shape = shape_of(inputs, weight, context->saved_data["stride"].toInt(),
                                     context->saved_data["dilation"].toInt());
    const Tensor gradient = readable(gradients[0], Kernels::kType);
    List result(2 + count);
    if (context->needs_input_grad(0) || context->needs_input_grad(1)) {
      const List of_weights = Kernels::weight_gradients(shape, inputs, gradient, sign);
      std::copy(of_weights.begin(), of_weights.end(), result.begin());
    }
    bool is_needed = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!context->needs_input_grad(2 + i)) continue;
      is_needed = true;
      result[2 + i] = empty_image(inputs[i].sizes(), Kernels::kType);
    }
    if (is_needed)
      Kernels::input_gradients(shape, gradient, sign, weight, inputs,
                               at::TensorList(result.data() + 2, count));
    result.resize(count + 5);
    return result;
  }

 private:
  static ConvShape shape_of(at::TensorList inputs, const Tensor& weight, std::int64_t stride,
                            std::int64_t dilation) {
    return {inputs[0].size(0),
            inputs[0].size(2),
            inputs[0].size(3),
            weight.size(1),
            weight.size(0),
            weight.size(2),
            stride,
            dilation};
  }
};

}  // namespace tutti::kernels
