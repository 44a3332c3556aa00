// Convolutions of pictures in bf16 on matrix units, with sums in f32: any number of channels, any
// odd kernel, stride and dilation, zeros around. All need has_matrix_units().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/kernels/amx/conv_shape.h"
#include "tutti/kernels/amx/joined_rows.h"

namespace tutti::kernels {

// `weights` are (out, kernel, kernel, in), `bias` has `out` values or is null. Channels of the
// result go to the slices one after another; what belongs to one without data is dropped.
void tile_conv(const ConvShape& shape, JoinedRows input, const float* weights, const float* bias,
               bool has_relu, std::span<const Slice> output);

// Sums over all pixels. `input` has the shape's size; so has `gradient`, that of the output, with
// its step.
struct WeightGradient {
  std::int64_t out, in;       // rounded up to whole tiles
  LineVector<float> weights;  // (kernel, kernel, out, in)
  LineVector<float> bias;     // of `out`
};
WeightGradient tile_weight_gradient(const ConvShape& shape, JoinedRows input, JoinedRows gradient);

}  // namespace tutti::kernels
