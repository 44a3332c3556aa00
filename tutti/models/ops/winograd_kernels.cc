#include "tutti/models/ops/winograd_kernels.h"

// Sizeless vectors (SVE, RVV) cannot be kept in arrays.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/models/ops/winograd_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tutti::models::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::CappedTag<float, kPanel>;
using Vector = hn::Vec<Lanes>;
constexpr Lanes kLanes;
constexpr int kLaneCount = static_cast<int>(hn::MaxLanes(kLanes));

// The transforms evaluate polynomials at 0, +-kA, +-kB and infinity. Whole numbers (1 and 2) would
// do, but with these rounding errors are two fifths.
constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;

HWY_INLINE Vector times(float factor, Vector x) {
  return hn::Mul(hn::Set(kLanes, factor), x);
}
// sum + factor * x
HWY_INLINE Vector plus(Vector sum, float factor, Vector x) {
  return hn::MulAdd(hn::Set(kLanes, factor), x, sum);
}

// One row or column of each transform. `from` and `to` may be the same.
HWY_INLINE void input_line(const Vector* d, Vector* to) {
  const Vector even_a = plus(d[4], -kB2, d[2]), odd_a = plus(d[3], -kB2, d[1]),
               even_b = plus(d[4], -kA2, d[2]), odd_b = plus(d[3], -kA2, d[1]);
  const Vector first = plus(plus(d[4], -(kA2 + kB2), d[2]), kA2 * kB2, d[0]),
               last = plus(plus(d[5], -(kA2 + kB2), d[3]), kA2 * kB2, d[1]);
  to[0] = first;
  to[1] = plus(even_a, kA, odd_a);
  to[2] = plus(even_a, -kA, odd_a);
  to[3] = plus(even_b, kB, odd_b);
  to[4] = plus(even_b, -kB, odd_b);
  to[5] = last;
}
HWY_INLINE void output_line(const Vector* m, Vector* to) {
  const Vector sum_a = hn::Add(m[1], m[2]), difference_a = hn::Sub(m[1], m[2]),
               sum_b = hn::Add(m[3], m[4]), difference_b = hn::Sub(m[3], m[4]);
  to[0] = hn::Add(hn::Add(m[0], sum_a), sum_b);
  to[1] = plus(times(kA, difference_a), kB, difference_b);
  to[2] = plus(times(kA2, sum_a), kB2, sum_b);
  to[3] = plus(plus(m[5], kA2 * kA, difference_a), kB2 * kB, difference_b);
}
HWY_INLINE void gradient_line(const Vector* y, Vector* to) {
  const Vector even_a = plus(y[0], kA2, y[2]), odd_a = plus(y[1], kA2, y[3]),
               even_b = plus(y[0], kB2, y[2]), odd_b = plus(y[1], kB2, y[3]);
  const Vector last = y[3];
  to[0] = y[0];
  to[1] = plus(even_a, kA, odd_a);
  to[2] = plus(even_a, -kA, odd_a);
  to[3] = plus(even_b, kB, odd_b);
  to[4] = plus(even_b, -kB, odd_b);
  to[5] = last;
}
constexpr float kScale0 = 1 / (kA2 * kB2), kScaleA = 1 / (2 * kA2 * (kA2 - kB2)),
                kScaleB = 1 / (2 * kB2 * (kB2 - kA2));
HWY_INLINE void weight_line(const Vector* g, Vector* to) {
  const Vector even_a = plus(g[0], kA2, g[2]), even_b = plus(g[0], kB2, g[2]), middle = g[1],
               last = g[2];
  to[0] = times(kScale0, g[0]);
  to[1] = times(kScaleA, plus(even_a, kA, middle));
  to[2] = times(kScaleA, plus(even_a, -kA, middle));
  to[3] = times(kScaleB, plus(even_b, kB, middle));
  to[4] = times(kScaleB, plus(even_b, -kB, middle));
  to[5] = last;
}
HWY_INLINE void weight_gradient_line(const Vector* u, Vector* to) {
  const Vector sum_a = times(kScaleA, hn::Add(u[1], u[2])),
               sum_b = times(kScaleB, hn::Add(u[3], u[4])),
               difference_a = times(kScaleA, hn::Sub(u[1], u[2])),
               difference_b = times(kScaleB, hn::Sub(u[3], u[4]));
  to[0] = hn::Add(plus(sum_a, kScale0, u[0]), sum_b);
  to[1] = plus(times(kA, difference_a), kB, difference_b);
  to[2] = plus(plus(u[5], kA2, sum_a), kB2, sum_b);
}

// Both sides of a square of kFrom x kFrom values: Line on its columns, then on its rows.
template <int kFrom, int kTo, class Line>
HWY_INLINE void both_sides(const Vector* from, Vector* to, Line line) {
  Vector half[kTo * kFrom];
  for (int x = 0; x < kFrom; ++x) {
    Vector column[kFrom], made[kTo];
    for (int y = 0; y < kFrom; ++y) column[y] = from[y * kFrom + x];
    line(column, made);
    for (int y = 0; y < kTo; ++y) half[y * kFrom + x] = made[y];
  }
  for (int y = 0; y < kTo; ++y) line(half + y * kFrom, to + y * kTo);
}

// As many channels as a register holds, or those that are left. A mask costs much on some
// processors.
HWY_INLINE Vector load_some(const float* from, std::int64_t left) {
  if (left >= kLaneCount) return hn::LoadU(kLanes, from);
  return hn::MaskedLoad(hn::FirstN(kLanes, static_cast<std::size_t>(left)), kLanes, from);
}
HWY_INLINE void store_some(Vector value, float* to, std::int64_t left) {
  if (left >= kLaneCount)
    hn::StoreU(value, kLanes, to);
  else
    hn::BlendedStore(value, hn::FirstN(kLanes, static_cast<std::size_t>(left)), kLanes, to);
}

template <int kCount>
HWY_INLINE void load_pixels(const TilePixels& pixels, std::int64_t channel, Vector* to) {
  const std::int64_t left = pixels.channels - channel;
  for (int i = 0; i < kCount; ++i) to[i] = load_some(pixels.values[i] + channel, left);
  if (pixels.signs == nullptr) return;
  for (int i = 0; i < kCount; ++i)
    to[i] = hn::IfThenElseZero(hn::Gt(load_some(pixels.signs[i] + channel, left), hn::Zero(kLanes)),
                               to[i]);
}
HWY_INLINE void store_positions(const Vector* from, const TileMatrix& to, std::int64_t channel) {
  for (int i = 0; i < kPositions; ++i)
    hn::StoreU(from[i], kLanes, to.values + i * to.position + channel);
}

HWY_ATTR void transform_input(const TilePixels& pixels, const TileMatrix& to) {
  for (std::int64_t c = 0; c < pixels.channels; c += kLaneCount) {
    Vector tile[kPositions];
    load_pixels<kPositions>(pixels, c, tile);
    both_sides<kTileIn, kTileIn>(tile, tile, input_line);
    store_positions(tile, to, c);
  }
}

HWY_ATTR void transform_gradient(const TilePixels& pixels, const TileMatrix& to, float* sum) {
  for (std::int64_t c = 0; c < pixels.channels; c += kLaneCount) {
    Vector tile[kTileOut * kTileOut], made[kPositions];
    load_pixels<kTileOut * kTileOut>(pixels, c, tile);
    Vector all = tile[0];
    for (int i = 1; i < kTileOut * kTileOut; ++i) all = hn::Add(all, tile[i]);
    hn::StoreU(hn::Add(all, hn::LoadU(kLanes, sum + c)), kLanes, sum + c);
    both_sides<kTileOut, kTileIn>(tile, made, gradient_line);
    store_positions(made, to, c);
  }
}

HWY_ATTR void transform_output(const TileMatrix& from, std::int64_t channels, const float* bias,
                               bool has_relu, float* const* pixels) {
  for (std::int64_t c = 0; c < channels; c += kLaneCount) {
    Vector tile[kPositions], made[kTileOut * kTileOut];
    for (int i = 0; i < kPositions; ++i)
      tile[i] = hn::LoadU(kLanes, from.values + i * from.position + c);
    both_sides<kTileIn, kTileOut>(tile, made, output_line);
    const Vector add = bias ? load_some(bias + c, channels - c) : hn::Zero(kLanes);
    for (int i = 0; i < kTileOut * kTileOut; ++i) {
      if (pixels[i] == nullptr) continue;
      Vector value = hn::Add(made[i], add);
      if (has_relu) value = hn::Max(value, hn::Zero(kLanes));
      store_some(value, pixels[i] + c, channels - c);
    }
  }
}

HWY_ATTR void transform_weights(const float* weights, std::int64_t in, std::int64_t out,
                                float* to) {
  const std::int64_t position = in * whole_panels(out);
  for (std::int64_t i = 0; i < in; ++i)
    for (std::int64_t o = 0; o < whole_panels(out); o += kLaneCount) {
      Vector kernel[9], made[kPositions];
      for (int place = 0; place < 9; ++place)
        kernel[place] =
            o < out ? load_some(weights + (place * in + i) * out + o, out - o) : hn::Zero(kLanes);
      both_sides<3, kTileIn>(kernel, made, weight_line);
      float* place = to + o / kPanel * kPanel * in + i * kPanel + o % kPanel;
      for (int p = 0; p < kPositions; ++p) hn::StoreU(made[p], kLanes, place + p * position);
    }
}

HWY_ATTR void transform_weight_gradient(const float* from, std::int64_t in, std::int64_t out,
                                        float* to) {
  const std::int64_t row = whole_panels(out), position = in * row;
  for (std::int64_t i = 0; i < in; ++i)
    for (std::int64_t o = 0; o < out; o += kLaneCount) {
      Vector tile[kPositions], made[9];
      for (int p = 0; p < kPositions; ++p)
        tile[p] = hn::LoadU(kLanes, from + p * position + i * row + o);
      both_sides<kTileIn, 3>(tile, made, weight_gradient_line);
      for (int place = 0; place < 9; ++place)
        store_some(made[place], to + (place * in + i) * out + o, out - o);
    }
}

}  // namespace tutti::models::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::models {

HWY_EXPORT(transform_input);
HWY_EXPORT(transform_gradient);
HWY_EXPORT(transform_output);
HWY_EXPORT(transform_weights);
HWY_EXPORT(transform_weight_gradient);

void transform_input(const TilePixels& pixels, const TileMatrix& to) {
  HWY_DYNAMIC_DISPATCH(transform_input)(pixels, to);
}
void transform_gradient(const TilePixels& pixels, const TileMatrix& to, float* sum) {
  HWY_DYNAMIC_DISPATCH(transform_gradient)(pixels, to, sum);
}
void transform_output(const TileMatrix& from, std::int64_t channels, const float* bias,
                      bool has_relu, float* const* pixels) {
  HWY_DYNAMIC_DISPATCH(transform_output)(from, channels, bias, has_relu, pixels);
}
void transform_weights(const float* weights, std::int64_t in, std::int64_t out, float* to) {
  HWY_DYNAMIC_DISPATCH(transform_weights)(weights, in, out, to);
}
void transform_weight_gradient(const float* from, std::int64_t in, std::int64_t out, float* to) {
  HWY_DYNAMIC_DISPATCH(transform_weight_gradient)(from, in, out, to);
}

}  // namespace tutti::models
#endif
