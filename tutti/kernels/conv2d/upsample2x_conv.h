// Convolutions that upsample an image by a factor of two (sub-pixel convolution).
#pragma once

#include <torch/types.h>

namespace tutti::kernels {

// conv_same in f32 with a 3x3 kernel whose filters form four groups. The four groups of a pixel are the 2x2 square, row
// by row, of an image of twice the size. Uses Winograd's transform, which writes the pixels directly to their
// destination.
torch::Tensor upsample2x_conv(at::TensorList inputs, const torch::Tensor& weight,
                              const torch::Tensor& bias);

}  // namespace tutti::kernels
