// A convolution of an enlarged volume that never makes the enlarged volume.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>

namespace tutti::models::gan3d {

using Size3 = std::array<std::int64_t, 3>;

// Repeats every cell of (N, C, X, Y, Z) `factor` times along each axis, puts `padding` zeros around
// and convolves it, without further zeros, with `weight` (out, C, kernel).
//
// Cells that lie next to each other have the same value, so the taps of the kernel that fall on one
// cell can be added up before. Which ones do depends on where in its cell an output begins: there
// are as many kernels as places in a cell, each of fewer taps, and one convolution of the small
// volume does all of them as channels. Their outputs are then laid side by side.
torch::Tensor upsampled_conv(const torch::Tensor& input, const torch::Tensor& weight,
                             const torch::Tensor& bias, const Size3& factor, const Size3& padding);

}  // namespace tutti::models::gan3d
