// 2-D convolutions in f32 as autograd functions of libtorch.
#pragma once

#include <torch/types.h>

namespace tutti::kernels {

// conv_same with a 3x3 kernel, stride 1 and dilation 1, with Winograd's transform.
torch::Tensor float_conv(at::TensorList inputs, const torch::Tensor& weight,
                         const torch::Tensor& bias, bool has_relu);

// conv_same with any kernel size, stride and dilation, computed by libtorch. The inputs are concatenated only during
// the computation; the autograd graph saves the original inputs.
torch::Tensor float_conv_of_concat(at::TensorList inputs, const torch::Tensor& weight,
                                   const torch::Tensor& bias, std::int64_t stride,
                                   std::int64_t dilation, bool has_relu);

}  // namespace tutti::kernels
