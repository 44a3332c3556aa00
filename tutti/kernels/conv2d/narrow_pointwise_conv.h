// Pointwise (1x1) convolutions with few output channels, such as a segmentation head.
#pragma once

#include <torch/types.h>

namespace tutti::kernels {

constexpr std::int64_t kMaxNarrowFilters = 8;

// conv_same in f32 for 1x1 kernels, stride 1 and at most kMaxNarrowFilters output channels. The forward and backward
// passes each read the inputs once, in place: libtorch's GEMM for such narrow matrices takes several times as long as
// reading them. Results do not depend on the number of threads.
torch::Tensor narrow_pointwise_conv(at::TensorList inputs, const torch::Tensor& weight,
                                    const torch::Tensor& bias);

}  // namespace tutti::kernels
