// Pictures in f32 as kernels of convolution read and write them, without libtorch.
#pragma once

#include <cstdint>
#include <span>

namespace tutti::kernels {

// Some channels of a batch of pictures. Channels lie beside each other; pixels, rows and pictures
// are so many values apart.
struct FloatSlice {
  float* data = nullptr;
  std::int64_t channels = 0, pixel = 0, row = 0, picture = 0;

  float* at(std::int64_t n, std::int64_t y, std::int64_t x) const {
    return data + n * picture + y * row + x * pixel;
  }
};

inline std::int64_t channels_of(std::span<const FloatSlice> slices) {
  std::int64_t sum = 0;
  for (const FloatSlice& slice : slices) sum += slice.channels;
  return sum;
}

struct PictureShape {
  std::int64_t pictures, height, width;
};

// What is read: the channels of all slices as if joined. Where `sign` is not positive, zeros are
// read; without data: everything is read.
struct JoinedPictures {
  PictureShape shape;
  std::span<const FloatSlice> slices;
  FloatSlice sign = {};

  std::int64_t channels() const { return channels_of(slices); }
};

}  // namespace tutti::kernels
