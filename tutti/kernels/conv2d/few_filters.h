// Convolutions of one pixel to few channels, as the last layer of a network has them.
#pragma once

#include <torch/types.h>

namespace tutti::kernels {

constexpr std::int64_t kFewFilters = 8;

// conv_same in f32 with a kernel of 1x1, stride 1 and at most kFewFilters filters. Each way goes
// once over the inputs, which are read from where they are: libtorch's products of such narrow
// matrices take several times as long as reading them. Results do not depend on the number of
// threads.
torch::Tensor few_filters_conv(at::TensorList inputs, const torch::Tensor& weight,
                               const torch::Tensor& bias);

}  // namespace tutti::kernels
