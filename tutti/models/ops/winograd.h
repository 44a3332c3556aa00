// Convolutions of pictures by Winograd's F(4x4, 3x3) in f32: kernels of 3x3, zeros around, a
// quarter of the multiplications. Any size, any number of channels, any processor. Results do not
// depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>

namespace tutti::models {

// Some channels of a batch of pictures. Channels lie beside each other; pixels, rows and pictures
// are so many values apart.
struct FloatSlice {
  float* data = nullptr;
  std::int64_t channels = 0, pixel = 0, row = 0, picture = 0;
};

struct PictureShape {
  std::int64_t pictures, height, width;
};

// What is read: the channels of all slices as if joined. Where `sign` is not positive, zeros are
// read; without data: everything is read.
struct WinogradInput {
  PictureShape shape;
  std::span<const FloatSlice> slices;
  FloatSlice sign = {};

  std::int64_t channels() const;
};

// `weights` are (3, 3, in, out), `bias` has `out` values or is null. Channels of the result go to
// the slices one after another; what belongs to one without data is dropped.
void winograd_conv(const WinogradInput& input, const float* weights, const float* bias,
                   bool has_relu, std::span<const FloatSlice> output);

// Sums over all pixels: `weights`, (3, 3, in, out), and `bias`, from the gradient of the output.
void winograd_weight_gradient(const WinogradInput& input, const WinogradInput& gradient,
                              float* weights, float* bias);

}  // namespace tutti::models
