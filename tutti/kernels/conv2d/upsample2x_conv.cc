#include "tutti/kernels/conv2d/upsample2x_conv.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "tutti/kernels/conv2d/float_slices.h"
#include "tutti/kernels/conv2d/images.h"
#include "tutti/kernels/operator_scope.h"
#include "tutti/kernels/winograd/winograd.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// A view of an image of twice the size as four images of the original size, one for each pixel of a 2x2 square.
std::vector<FloatSlice> squares_of(const Tensor& doubled) {
  const FloatSlice whole = float_slice_of(doubled);
  std::vector<FloatSlice> slices;
  for (std::int64_t y : {0, 1})
    for (std::int64_t x : {0, 1})
      slices.push_back(
          {whole.at(0, y, x), whole.channels, 2 * whole.pixel, 2 * whole.row, whole.image});
  return slices;
}

std::vector<ResultSlice> results_at(std::span<const FloatSlice> slices) {
  std::vector<ResultSlice> results;
  for (const FloatSlice& slice : slices) results.push_back({.to = slice});
  return results;
}

struct Upsample2xConv : Function<Upsample2xConv> {
  static Tensor forward(AutogradContext* context, const Tensor& weight, const Tensor& bias,
                        at::TensorList inputs) {
    variable_list saved(inputs.begin(), inputs.end());
    saved.push_back(weight);
    const OperatorScope scope("tutti::upsample2x_conv", saved);
    const Tensor& input = inputs[0];
    const Tensor output = empty_image(
        {input.size(0), weight.size(0) / 4, 2 * input.size(2), 2 * input.size(3)}, torch::kFloat32);
    const Tensor taps = weight.permute({2, 3, 1, 0}).contiguous(), biases = bias.contiguous();
    const std::vector<FloatSlice> slices = slices_of(inputs);
    winograd_conv({image_shape_of(input), slices}, taps.data_ptr<float>(), biases.data_ptr<float>(),
                  results_at(squares_of(output)));
    context->save_for_backward(saved);
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const OperatorScope scope("tutti::upsample2x_conv_backward", saved);
    const at::TensorList inputs(saved.data(), saved.size() - 1);
    const Tensor &weight = saved.back(), gradient = readable(gradients[0], torch::kFloat32);
    const std::vector<FloatSlice> slices = slices_of(inputs), squares = squares_of(gradient);
    const ImageShape shape = image_shape_of(inputs[0]);
    const Tensor taps = torch::empty({3, 3, weight.size(1), weight.size(0)}),
                 bias = torch::empty({weight.size(0)});
    winograd_weight_gradient({shape, slices}, {shape, squares}, taps.data_ptr<float>(),
                             bias.data_ptr<float>());
    variable_list result = {taps.permute({3, 2, 0, 1}), bias};
    for (const Tensor& input : inputs)
      result.push_back(empty_image(input.sizes(), torch::kFloat32));
    const Tensor flipped = weight.flip({2, 3}).permute({2, 3, 0, 1}).contiguous();
    winograd_conv({shape, squares}, flipped.data_ptr<float>(), nullptr,
                  results_at(slices_of(at::TensorList(result).slice(2))));
    return result;
  }
};

}  // namespace

Tensor upsample2x_conv(at::TensorList inputs, const Tensor& weight, const Tensor& bias) {
  const std::vector<Tensor> images = readables(inputs, torch::kFloat32);
  return Upsample2xConv::apply(weight.to(torch::kFloat32), bias.to(torch::kFloat32),
                               at::TensorList(images));
}

}  // namespace tutti::kernels
