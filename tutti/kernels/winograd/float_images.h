// Layout of f32 images for the convolution kernels, independent of libtorch.
#pragma once

#include <cstdint>
#include <span>

namespace tutti::kernels {

// A subset of the channels of a batch of images. Channels are contiguous; the last three members are strides in values.
struct FloatSlice {
  float* data = nullptr;
  std::int64_t channels = 0, pixel = 0, row = 0, image = 0;

  float* at(std::int64_t n, std::int64_t y, std::int64_t x) const {
    return data + n * image + y * row + x * pixel;
  }
};

inline std::int64_t channels_of(std::span<const FloatSlice> slices) {
  std::int64_t sum = 0;
  for (const FloatSlice& slice : slices) sum += slice.channels;
  return sum;
}

struct ImageShape {
  std::int64_t images, height, width;
};

// Input view that concatenates the channels of all slices. Zeros are read where `sign` is not positive; without data
// there is no mask.
struct ConcatImages {
  ImageShape shape;
  std::span<const FloatSlice> slices;
  FloatSlice sign = {};

  std::int64_t channels() const { return channels_of(slices); }
};

}  // namespace tutti::kernels
