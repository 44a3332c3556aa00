// Convolution of an upsampled volume without storing it.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>

namespace tutti::models::gan3d {

using Size3 = std::array<std::int64_t, 3>;

// Repeats every cell of (N, C, X, Y, Z) `factor` times along each axis, adds `padding` zeros and convolves it, without
// further padding, with `weight` (out, C, kernel).
//
// Adjacent cells of the upsampled volume are equal, so the kernel taps that fall on the same cell can be summed
// beforehand. Which ones these are depends on the offset of an output within its cell. There are as many kernels as
// offsets, each with fewer taps, and one convolution of the small volume computes all of them as channels. Their
// outputs are then interleaved.
torch::Tensor upsampled_conv(const torch::Tensor& input, const torch::Tensor& weight,
                             const torch::Tensor& bias, const Size3& factor, const Size3& padding);

}  // namespace tutti::models::gan3d
