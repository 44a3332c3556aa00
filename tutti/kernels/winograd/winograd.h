// Convolutions of pictures by Winograd's F(4x4, 3x3) in f32: kernels of 3x3, zeros around, a
// quarter of the multiplications. Any size, any number of channels, any processor. Results do not
// depend on the number of threads.
#pragma once

#include <span>

#include "tutti/kernels/winograd/float_pictures.h"

namespace tutti::kernels {

// With fewer on either side, transforms cost more than the multiplications they save.
constexpr std::int64_t kFewChannels = 16;

// Channels of a result. Those without data are dropped. `add` is added to them first, and may be
// the same memory; where `sign` is not positive, they are zero; each only if it has data.
struct ResultSlice {
  FloatSlice to;
  FloatSlice add = {}, sign = {};
  bool has_relu = false;
};

// `weights` are (3, 3, in, out), `bias` has `out` values or is null. Channels of the result go to
// the slices one after another.
void winograd_conv(const JoinedPictures& input, const float* weights, const float* bias,
                   std::span<const ResultSlice> output);

// Sums over all pixels: `weights`, (3, 3, in, out), and `bias`, from the gradient of the output.
void winograd_weight_gradient(const JoinedPictures& input, const JoinedPictures& gradient,
                              float* weights, float* bias);

}  // namespace tutti::kernels
