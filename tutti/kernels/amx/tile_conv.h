// 2-D convolutions in bf16 on AMX with f32 accumulation: any number of channels, any odd kernel size, stride and
// dilation, "same" zero padding. All functions require has_matrix_units().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/kernels/amx/concat_rows.h"
#include "tutti/kernels/amx/conv_shape.h"

namespace tutti::kernels {

// Forward convolution. `weights` are (out, kernel, kernel, in); `bias` has `out` values or is null. The output channels
// are distributed over the slices in order; channels of a slice without data are dropped.
void tile_conv(const ConvShape& shape, ConcatRows input, const float* weights, const float* bias,
               bool has_relu, std::span<const Slice> output);

// Gradients of weights and bias, summed over all pixels. `input` and `gradient` (the gradient of the output, with its
// step) both have the size given by the shape.
struct WeightGradient {
  std::int64_t out, in;       // rounded up to full tiles
  LineVector<float> weights;  // (kernel, kernel, out, in)
  LineVector<float> bias;     // `out` values
};
WeightGradient tile_weight_gradient(const ConvShape& shape, ConcatRows input, ConcatRows gradient);

}  // namespace tutti::kernels
