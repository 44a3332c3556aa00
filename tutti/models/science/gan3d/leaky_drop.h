// Leaky ReLU and dropout in one pass.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace tutti::models::gan3d {

// leaky_relu(input, slope), then dropout with rate `drop`: dropped values become 0, the others are divided by 1 - drop.
// Slope 1 is dropout only. The slope must be positive: the backward pass derives both masks from the sign of the
// output. The same seed drops the same elements in memory. f32 or bf16.
torch::Tensor leaky_drop(const torch::Tensor& input, double slope, double drop, std::uint64_t seed);

}  // namespace tutti::models::gan3d
