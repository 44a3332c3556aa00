// 2-D convolution with Winograd's F(4x4, 3x3) in f32: 3x3 kernels, "same" zero padding, a quarter of the
// multiplications. Any size, any number of channels, any CPU. Results do not depend on the number of threads.
#pragma once

#include <span>

#include "tutti/kernels/winograd/float_images.h"

namespace tutti::kernels {

// With fewer input or output channels, the transforms cost more than the multiplications they save.
constexpr std::int64_t kFewChannels = 16;

// A subset of the channels of a result. Channels of a slice without data are dropped. If `add` has data, it is added to
// the result; it may be the same memory as `to`. If `sign` has data, the result is zero where `sign` is not positive.
struct ResultSlice {
  FloatSlice to;
  FloatSlice add = {}, sign = {};
  bool has_relu = false;
};

// Forward convolution. `weights` are (3, 3, in, out); `bias` has `out` values or is null. The output channels are
// distributed over the slices in order.
void winograd_conv(const ConcatImages& input, const float* weights, const float* bias,
                   std::span<const ResultSlice> output);

// Gradients of weights, (3, 3, in, out), and bias, summed over all pixels. `gradient` is the gradient of the output.
void winograd_weight_gradient(const ConcatImages& input, const ConcatImages& gradient,
                              float* weights, float* bias);

}  // namespace tutti::kernels
