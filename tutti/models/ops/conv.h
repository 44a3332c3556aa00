// Operations of image networks that are worth more care than libtorch's own on processors. Images
// are in channels_last; weights and biases are f32, what is computed in between is `dtype`.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace tutti::models {

// Convolution with an odd square kernel, stride 1, zeros around: the picture keeps its size. Where
// bf16 runs on matrix units, gradients are made of the operations that run there too, which oneDNN
// 2.6's own are not: that of the input is a convolution with the turned kernel, that of the weights
// a product of matrices per place of the kernel.
torch::Tensor conv_same(const torch::Tensor& input, const torch::Tensor& weight,
                        const torch::Tensor& bias, torch::ScalarType dtype);

// max_pool of 2x2, relu, and zeroing of a share `drop`, in one pass each way: what is remembered of
// the input is one byte per output. What is left is not scaled up: give the factor 1 / (1 - drop)
// to the weights that come next. The same seed gives the same pattern. Odd last rows and columns
// are left out, as by max_pool2d.
torch::Tensor pool_relu_drop(const torch::Tensor& input, double drop, std::uint64_t seed);

}  // namespace tutti::models
