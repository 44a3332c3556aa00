// Convolutions that double a picture.
#pragma once

#include <torch/types.h>

namespace tutti::kernels {

// conv_same in f32 with a kernel of 3x3, whose filters are four groups: each pixel gives the four
// of a 2x2 square, row by row, in a picture of twice the size. By Winograd's transform, which
// writes them to their places.
torch::Tensor doubling_conv(at::TensorList inputs, const torch::Tensor& weight,
                            const torch::Tensor& bias);

}  // namespace tutti::kernels
