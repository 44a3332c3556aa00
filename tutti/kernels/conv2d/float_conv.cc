#include "tutti/kernels/conv2d/float_conv.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "tutti/kernels/conv2d/concat_conv.h"
#include "tutti/kernels/conv2d/float_slices.h"
#include "tutti/kernels/winograd/winograd.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;
using torch::autograd::variable_list;

// Destinations for the gradients of the inputs.
std::vector<ResultSlice> result_slices_of(at::TensorList results, at::TensorList inputs) {
  std::vector<ResultSlice> slices;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    slices.push_back({results[i].defined() ? float_slice_of(results[i])
                                           : FloatSlice{nullptr, inputs[i].size(1)}});
  return slices;
}

ConcatImages masked(const Tensor& gradient, const FloatSlice& slice, const Tensor& sign) {
  return {
      image_shape_of(gradient), {&slice, 1}, sign.defined() ? float_slice_of(sign) : FloatSlice{}};
}

struct WinogradKernels {
  static constexpr auto kType = torch::kFloat32;

  static void forward(const ConvShape&, at::TensorList inputs, const Tensor& weight,
                      const Tensor& bias, bool has_relu, const Tensor& output) {
    const Tensor taps = weight.permute({2, 3, 1, 0}).contiguous(), biases = bias.contiguous();
    const std::vector<FloatSlice> slices = slices_of(inputs);
    const ResultSlice to{.to = float_slice_of(output), .has_relu = has_relu};
    winograd_conv({image_shape_of(output), slices}, taps.data_ptr<float>(),
                  biases.data_ptr<float>(), {&to, 1});
  }

  static variable_list weight_gradients(const ConvShape& shape, at::TensorList inputs,
                                        const Tensor& gradient, const Tensor& sign) {
    const std::vector<FloatSlice> slices = slices_of(inputs);
    const FloatSlice from = float_slice_of(gradient);
    const Tensor taps = torch::empty({3, 3, shape.in, shape.out}), bias = torch::empty({shape.out});
    winograd_weight_gradient({image_shape_of(gradient), slices}, masked(gradient, from, sign),
                             taps.data_ptr<float>(), bias.data_ptr<float>());
    return {taps.permute({3, 2, 0, 1}), bias};
  }

  static void input_gradients(const ConvShape&, const Tensor& gradient, const Tensor& sign,
                              const Tensor& weight, at::TensorList inputs, at::TensorList results) {
    const FloatSlice from = float_slice_of(gradient);
    const Tensor flipped = weight.flip({2, 3}).permute({2, 3, 0, 1}).contiguous();
    winograd_conv(masked(gradient, from, sign), flipped.data_ptr<float>(), nullptr,
                  result_slices_of(results, inputs));
  }
};

struct LibtorchKernels {
  static constexpr auto kType = torch::kFloat32;

  static void forward(const ConvShape& shape, at::TensorList inputs, const Tensor& weight,
                      const Tensor& bias, bool has_relu, const Tensor& output) {
    output.copy_(torch::conv2d(torch::cat(inputs, 1), weight, bias, shape.stride, shape.reach(),
                               shape.dilation));
    if (has_relu) output.relu_();
  }

  static variable_list weight_gradients(const ConvShape& shape, at::TensorList inputs,
                                        const Tensor& gradient, const Tensor& sign) {
    const Tensor sizes = empty_image({shape.out, shape.in, shape.kernel, shape.kernel}, kType);
    const auto [none, weight, bias] =
        gradients(shape, torch::cat(inputs, 1), masked(gradient, sign), sizes, {false, true, true});
    return {weight, bias};
  }

  static void input_gradients(const ConvShape& shape, const Tensor& gradient, const Tensor& sign,
                              const Tensor& weight, at::TensorList inputs, at::TensorList results) {
    const Tensor sizes = empty_image({shape.images, shape.in, shape.height, shape.width}, kType);
    const Tensor concatenated =
        std::get<0>(gradients(shape, sizes, masked(gradient, sign), weight, {true, false, false}));
    std::int64_t first = 0;
    for (std::size_t i = 0; i < inputs.size(); first += inputs[i++].size(1))
      if (results[i].defined()) results[i].copy_(concatenated.narrow(1, first, inputs[i].size(1)));
  }

 private:
  static Tensor masked(const Tensor& gradient, const Tensor& sign) {
    return sign.defined() ? torch::threshold_backward(gradient, sign, 0) : gradient;
  }
  static std::tuple<Tensor, Tensor, Tensor> gradients(const ConvShape& shape, const Tensor& input,
                                                      const Tensor& gradient, const Tensor& weight,
                                                      std::array<bool, 3> wanted) {
    const std::int64_t zeros = shape.reach();
    return torch::convolution_backward(gradient, input, weight, {{shape.out}},
                                       {shape.stride, shape.stride}, {zeros, zeros},
                                       {shape.dilation, shape.dilation}, false, {0, 0}, 1, wanted);
  }
};

}  // namespace

Tensor float_conv_of_concat(at::TensorList inputs, const Tensor& weight, const Tensor& bias,
                            std::int64_t stride, std::int64_t dilation, bool has_relu) {
  const std::vector<Tensor> images = readables(inputs, torch::kFloat32);
  return ConcatConv<LibtorchKernels>::apply(weight.to(torch::kFloat32), bias.to(torch::kFloat32),
                                            at::TensorList(images), stride, dilation, has_relu);
}

Tensor float_conv(at::TensorList inputs, const Tensor& weight, const Tensor& bias, bool has_relu) {
  const std::vector<Tensor> images = readables(inputs, torch::kFloat32);
  return ConcatConv<WinogradKernels>::apply(weight.to(torch::kFloat32), bias.to(torch::kFloat32),
                                            at::TensorList(images), std::int64_t{1},
                                            std::int64_t{1}, has_relu);
}

}  // namespace tutti::kernels
