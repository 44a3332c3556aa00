#include "tutti/kernels/conv3d/volume_kernels.h"

#include <bit>

// Compiled for several instruction sets; the dynamic loader selects one at program start.
#define TUTTI_CLONES \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))

namespace tutti::kernels {
namespace {

inline float value_of(float x) {
  return x;
}
inline float value_of(std::uint16_t x) {
  return std::bit_cast<float>(std::uint32_t{x} << 16);
}
inline void put(float& to, float x) {
  to = x;
}
inline void put(std::uint16_t& to, float x) {  // rounds to nearest, ties to even
  const auto bits = std::bit_cast<std::uint32_t>(x);
  to = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T>
inline __attribute__((always_inline)) void pool_voxel(const T* const* in, T* __restrict out,
                                                      std::uint8_t* __restrict signs,
                                                      std::int64_t channels, float slope) {
  for (std::int64_t c = 0; c < channels; ++c) {
    float sum = 0;
    std::uint32_t bits = 0;
    for (int v = 0; v < 8; ++v) {
      const float x = value_of(in[v][c]);
      sum += x > 0 ? x : slope * x;
      bits |= x > 0 ? 1u << v : 0u;
    }
    put(out[c], sum * 0.125f);
    signs[c] = static_cast<std::uint8_t>(bits);
  }
}

template <class T>
inline __attribute__((always_inline)) void unpool_voxel(const T* __restrict gradient,
                                                        const std::uint8_t* __restrict signs,
                                                        T* const* out, std::int64_t channels,
                                                        float slope) {
  for (int v = 0; v < 8; ++v) {
    T* __restrict to = out[v];
    for (std::int64_t c = 0; c < channels; ++c) {
      const float g = 0.125f * value_of(gradient[c]);
      put(to[c], (signs[c] >> v & 1) != 0 ? g : slope * g);
    }
  }
}

// Index of input v of the output voxel (z, y, x).
inline std::int64_t input_voxel(const Extent& extent, std::int64_t z, std::int64_t y,
                                std::int64_t x, int v) {
  return ((2 * z + (v >> 2)) * extent.height + 2 * y + (v >> 1 & 1)) * extent.width + 2 * x +
         (v & 1);
}

template <class T>
inline __attribute__((always_inline)) void pool_plane(const T* input, T* output,
                                                      std::uint8_t* signs, const Extent& extent,
                                                      std::int64_t channels, float slope,
                                                      std::int64_t z) {
  const Extent pooled = extent.halved();
  for (std::int64_t y = 0; y < pooled.height; ++y)
    for (std::int64_t x = 0; x < pooled.width; ++x) {
      const T* in[8];
      for (int v = 0; v < 8; ++v) in[v] = input + input_voxel(extent, z, y, x, v) * channels;
      const std::int64_t at = ((z * pooled.height + y) * pooled.width + x) * channels;
      pool_voxel(in, output + at, signs + at, channels, slope);
    }
}

template <class T>
inline __attribute__((always_inline)) void unpool_plane(const T* gradient,
                                                        const std::uint8_t* signs, T* out,
                                                        const Extent& extent, std::int64_t channels,
                                                        float slope, std::int64_t z) {
  const Extent pooled = extent.halved();
  for (std::int64_t y = 0; y < pooled.height; ++y)
    for (std::int64_t x = 0; x < pooled.width; ++x) {
      T* to[8];
      for (int v = 0; v < 8; ++v) to[v] = out + input_voxel(extent, z, y, x, v) * channels;
      const std::int64_t at = ((z * pooled.height + y) * pooled.width + x) * channels;
      unpool_voxel(gradient + at, signs + at, to, channels, slope);
    }
}

}  // namespace

template <>
TUTTI_CLONES void mean_pool_plane(const float* input, float* output, std::uint8_t* signs,
                                  const Extent& extent, std::int64_t channels, float slope,
                                  std::int64_t z) {
  pool_plane(input, output, signs, extent, channels, slope, z);
}
template <>
TUTTI_CLONES void mean_pool_plane(const std::uint16_t* input, std::uint16_t* output,
                                  std::uint8_t* signs, const Extent& extent, std::int64_t channels,
                                  float slope, std::int64_t z) {
  pool_plane(input, output, signs, extent, channels, slope, z);
}
template <>
TUTTI_CLONES void mean_pool_backward_plane(const float* gradient, const std::uint8_t* signs,
                                           float* out, const Extent& extent, std::int64_t channels,
                                           float slope, std::int64_t z) {
  unpool_plane(gradient, signs, out, extent, channels, slope, z);
}
template <>
TUTTI_CLONES void mean_pool_backward_plane(const std::uint16_t* gradient, const std::uint8_t* signs,
                                           std::uint16_t* out, const Extent& extent,
                                           std::int64_t channels, float slope, std::int64_t z) {
  unpool_plane(gradient, signs, out, extent, channels, slope, z);
}

}  // namespace tutti::kernels
