// Operations of image networks that are worth more care than libtorch's own on processors. Images
// are in channels_last; weights and biases are f32, what is computed in between is `dtype`.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace tutti::kernels {

struct ConvOptions {
  std::int64_t stride = 1, dilation = 1;
  bool has_relu = false;  // max(0, result)
};

// Convolution with an odd square kernel and zeros around: the picture keeps its size, or has one
// pixel of every `stride`. Several inputs are taken as if their channels were joined. Where bf16
// runs on matrix units, all three directions do, for any number of channels, by kernels of our own:
// oneDNN 2.6 has only the forward one there, and channels in multiples of 32 at their best. In f32,
// kernels of 3x3 go by Winograd's transform, with a quarter of the multiplications.
torch::Tensor conv_same(at::TensorList inputs, const torch::Tensor& weight,
                        const torch::Tensor& bias, torch::ScalarType dtype,
                        const ConvOptions& options = {});

// max_pool of 2x2, relu, and zeroing of a share `drop`, in one pass each way: what is remembered of
// the input is one byte per output. What is left is not scaled up: give the factor 1 / (1 - drop)
// to the weights that come next. The same seed gives the same pattern. Odd last rows and columns
// are left out, as by max_pool2d.
torch::Tensor pool_relu_drop(const torch::Tensor& input, double drop, std::uint64_t seed);

// pool_relu_drop(conv_same(input)) for the first layer of a network, which has few channels; no
// gradient for the input. In f32 with a kernel of 3x3 and filters in multiples of 16, what is
// before the pooling, larger than all the rest of the network, is never written.
torch::Tensor first_conv_pool_relu_drop(const torch::Tensor& input, const torch::Tensor& weight,
                                        const torch::Tensor& bias, torch::ScalarType dtype,
                                        double drop, std::uint64_t seed);

}  // namespace tutti::kernels
