// Operations of image networks for which libtorch on CPUs is slow. Images are in channels_last; weights and biases are
// f32, computation is in `dtype`.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace tutti::kernels {

struct ConvOptions {
  std::int64_t stride = 1, dilation = 1;
  bool has_relu = false;  // apply ReLU to the result
};

// 2-D convolution with an odd square kernel and "same" zero padding; the output size is the input size divided by
// `stride`, rounded up. The channels of several inputs are concatenated.
//
// - bf16 with AMX: custom kernels for the forward pass and both gradients, for any number of channels. oneDNN 2.6 has
//   only the forward pass on AMX, and is fastest with multiples of 32 channels.
// - f32: 3x3 kernels use Winograd F(4x4, 3x3), with a quarter of the multiplications.
torch::Tensor conv_same(at::TensorList inputs, const torch::Tensor& weight,
                        const torch::Tensor& bias, torch::ScalarType dtype,
                        const ConvOptions& options = {});

// 2x2 max pooling, ReLU and dropout with probability `drop`, in one pass forward and one backward. Saves one byte per
// output for the backward pass instead of the input. The remaining values are not scaled: multiply the weights of the
// next layer by 1 / (1 - drop). The same seed produces the same mask. Odd last rows and columns are dropped, as in
// max_pool2d.
torch::Tensor pool_relu_drop(const torch::Tensor& input, double drop, std::uint64_t seed);

// pool_relu_drop(conv_same(input)) for the first layer of a network, which has few channels. Does not compute a
// gradient for the input. In f32 with a 3x3 kernel and a multiple of 16 filters, the output before pooling, which is
// larger than the rest of the network, is never written to memory.
torch::Tensor first_conv_pool_relu_drop(const torch::Tensor& input, const torch::Tensor& weight,
                                        const torch::Tensor& bias, torch::ScalarType dtype,
                                        double drop, std::uint64_t seed);

}  // namespace tutti::kernels
