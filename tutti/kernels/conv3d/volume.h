// Operations on volumes (N, C, D, H, W) for which libtorch on CPUs is slow. Weights and biases are f32, computation is
// in `dtype`; results are in channels_last_3d.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace tutti::kernels {

// 3-D convolution with a cubic kernel and zero padding. In bf16 on AMX, the gradient of the input is computed as a
// convolution with the flipped kernel, also on AMX. The gradient of the weights is computed in f32, where oneDNN 2.6 is
// faster than in bf16.
torch::Tensor conv_volume(const torch::Tensor& input, const torch::Tensor& weight,
                          const torch::Tensor& bias, torch::ScalarType dtype,
                          std::int64_t stride = 1, std::int64_t padding = 0);

// avg_pool3d(leaky_relu(x, slope), 2) in one pass forward and one backward. Saves one byte per output for the backward
// pass instead of the input. An odd last plane, row or column is dropped.
torch::Tensor leaky_mean_pool(const torch::Tensor& input, double slope);

// leaky_mean_pool(conv(input)) for volumes of one channel, a 3x3x3 kernel without padding and a multiple of 8 filters.
// Intended for the first layer, whose output before pooling is larger than the rest of the network; it is never written
// to memory. Does not compute a gradient for the input.
torch::Tensor first_conv_leaky_mean_pool(const torch::Tensor& input, const torch::Tensor& weight,
                                         const torch::Tensor& bias, torch::ScalarType dtype,
                                         double slope);

// Applies one of the 48 symmetries of a cube (axis permutation, then reflections) to the last three dimensions, which
// must have the same size. 0 is the identity. The result is contiguous.
inline constexpr std::uint64_t kCubeSymmetries = 48;
torch::Tensor apply_cube_symmetry(const torch::Tensor& volumes, std::uint64_t symmetry);

}  // namespace tutti::kernels
