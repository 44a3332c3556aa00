// Plane kernels of volume.cc, independent of libtorch. Volumes are (D, H, W, channels), channels fastest.
#pragma once

#include <cstdint>

namespace tutti::kernels {

struct Extent {
  std::int64_t depth = 0, height = 0, width = 0;
  std::int64_t count() const { return depth * height * width; }
  Extent halved() const { return {depth / 2, height / 2, width / 2}; }
};

// Computes plane `z` of the output: the mean of eight inputs after leaky ReLU. Bit v of `signs` is set if input v = 4
// dz + 2 dy + dx was positive. T: float, or std::uint16_t for bf16.
template <class T>
void mean_pool_plane(const T* input, T* output, std::uint8_t* signs, const Extent& extent,
                     std::int64_t channels, float slope, std::int64_t z);
// Computes the gradient of the input in the planes 2 z and 2 z + 1.
template <class T>
void mean_pool_backward_plane(const T* gradient, const std::uint8_t* signs, T* out,
                              const Extent& extent, std::int64_t channels, float slope,
                              std::int64_t z);

// 3x3x3 convolution on one channel, followed by the pooling. `weights` holds the filters (a multiple of 8) of each of
// the 27 kernel positions contiguously. `extent` is that of the input.
void first_layer_plane(const float* input, const float* weights, const float* bias, float* output,
                       std::uint8_t* signs, const Extent& extent, std::int64_t filters, float slope,
                       std::int64_t z);
// Adds the contribution of plane `z` of the gradient to the gradients of weights and biases.
void first_layer_backward_plane(const float* input, const float* gradient,
                                const std::uint8_t* signs, float* weights, float* bias,
                                const Extent& extent, std::int64_t filters, float slope,
                                std::int64_t z);

}  // namespace tutti::kernels
