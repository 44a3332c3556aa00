// Operations of networks on volumes (N, C, D, H, W) that are worth more care than libtorch's own on
// processors. Weights and biases are f32, what is computed in between is `dtype`; results are in
// channels_last_3d.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace tutti::kernels {

// Convolution with a cubic kernel and zeros around. In bf16 on matrix units, the gradient of the
// input is a convolution with the turned kernel, which runs there too, and the gradient of the
// weights is made in f32, in which oneDNN 2.6 is faster than in bf16.
torch::Tensor conv_volume(const torch::Tensor& input, const torch::Tensor& weight,
                          const torch::Tensor& bias, torch::ScalarType dtype,
                          std::int64_t stride = 1, std::int64_t padding = 0);

// avg_pool3d(leaky_relu(x, slope), 2) in one pass each way: what is remembered of the input is one
// byte per output. Odd last planes are left out.
torch::Tensor leaky_mean_pool(const torch::Tensor& input, double slope);

// leaky_mean_pool(conv(input)) for a volume of one channel, a kernel of 3 without zeros around,
// and a multiple of 8 filters: the first layer, whose output before the pooling is larger than all
// the rest of the network and is never written here. Has no gradient for the input.
torch::Tensor first_conv_leaky_mean_pool(const torch::Tensor& input, const torch::Tensor& weight,
                                         const torch::Tensor& bias, torch::ScalarType dtype,
                                         double slope);

// One of the 48 symmetries of a cube, applied to the last three dimensions, which must be of one
// size: an order of the axes, then mirrors. 0 is none. Contiguous.
inline constexpr std::uint64_t kCubeSymmetries = 48;
torch::Tensor turned(const torch::Tensor& volumes, std::uint64_t symmetry);

}  // namespace tutti::kernels
