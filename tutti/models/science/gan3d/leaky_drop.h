// Leaky ReLU and dropout in one pass.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace tutti::models::gan3d {

// leaky_relu(input, slope), then a share `drop` of the values becomes 0 and the others are divided
// by 1 - drop. Slope 1 leaves only the dropping. The slope must be positive: backward reads what
// happened to a value from the sign of the output. The same seed drops the same places in memory.
// f32 or bf16.
torch::Tensor leaky_drop(const torch::Tensor& input, double slope, double drop, std::uint64_t seed);

}  // namespace tutti::models::gan3d
