// Convolutions of pictures in f32 as operations of libtorch.
#pragma once

#include <torch/types.h>

namespace tutti::kernels {

// conv_same with a kernel of 3x3, stride 1 and dilation 1, by Winograd's transform.
torch::Tensor float_conv(at::TensorList inputs, const torch::Tensor& weight,
                         const torch::Tensor& bias, bool has_relu);

// conv_same of any kernel, stride and dilation, by libtorch. The inputs are joined only while it
// computes; the graph keeps them as they are.
torch::Tensor float_conv_of_joined(at::TensorList inputs, const torch::Tensor& weight,
                                   const torch::Tensor& bias, std::int64_t stride,
                                   std::int64_t dilation, bool has_relu);

}  // namespace tutti::kernels
