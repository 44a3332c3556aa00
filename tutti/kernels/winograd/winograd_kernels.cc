#include "tutti/kernels/winograd/winograd_kernels.h"

// Sizeless vectors (SVE, RVV) cannot be stored in arrays.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/winograd/winograd_kernels.cc"
#include <hwy/foreach_target.h>
// Included after foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::CappedTag<float, kPanel>;
using Vector = hn::Vec<Lanes>;
constexpr Lanes kLanes;
constexpr int kLaneCount = static_cast<int>(hn::MaxLanes(kLanes));

// Interpolation points of the transforms: 0, +-kA, +-kB and infinity. The usual integers (1 and 2) work too, but these
// points reduce rounding errors to two fifths.
constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;

HWY_INLINE Vector times(float factor, Vector x) {
  return hn::Mul(hn::Set(kLanes, factor), x);
}
// sum + factor * x
HWY_INLINE Vector plus(Vector sum, float factor, Vector x) {
  return hn::MulAdd(hn::Set(kLanes, factor), x, sum);
}

// One row or column of each transform.
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

// Applies `line` to the columns and then to the rows of a square of kFrom x kFrom values. load(i) returns a value and
// store(i, value) writes one, so only the intermediate values are kept.
template <int kFrom, int kTo, class Load, class Line, class Store>
HWY_INLINE void both_sides(Load load, Line line, Store store) {
  Vector half[kTo * kFrom];
#pragma GCC unroll 6
  for (int x = 0; x < kFrom; ++x) {
    Vector column[kFrom], made[kTo];
    for (int y = 0; y < kFrom; ++y) column[y] = load(y * kFrom + x);
    line(column, made);
    for (int y = 0; y < kTo; ++y) half[y * kFrom + x] = made[y];
  }
#pragma GCC unroll 6
  for (int y = 0; y < kTo; ++y) {
    Vector made[kTo];
    line(half + y * kFrom, made);
    for (int x = 0; x < kTo; ++x) store(y * kTo + x, made[x]);
  }
}

// Loads as many channels as a register holds, or the remaining ones. Masked loads are slow on some CPUs.
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

// Full registers need no check for each pixel.
struct WholePixels {
  const float* const* values;
  std::int64_t channel;
  HWY_INLINE Vector operator()(int i) const { return hn::LoadU(kLanes, values[i] + channel); }
};
struct AnyPixels {
  const TilePixels& pixels;
  std::int64_t channel;
  HWY_INLINE Vector operator()(int i) const {
    const std::int64_t left = pixels.channels - channel;
    const Vector value = load_some(pixels.values[i] + channel, left);
    if (pixels.signs == nullptr) return value;
    const Vector sign = load_some(pixels.signs[i] + channel, left);
    return hn::IfThenElseZero(hn::Gt(sign, hn::Zero(kLanes)), value);
  }
};
struct ToPositions {
  float* first;
  std::int64_t position;
  HWY_INLINE void operator()(int i, Vector value) const {
    hn::StoreU(value, kLanes, first + i * position);
  }
};

HWY_ATTR void transform_input(const TilePixels& pixels, const TileMatrix& to) {
  std::int64_t c = 0;
  if (pixels.signs == nullptr)
    for (; c + kLaneCount <= pixels.channels; c += kLaneCount)
      both_sides<kTileIn, kTileIn>(WholePixels{pixels.values, c}, input_line,
                                   ToPositions{to.values + c, to.position});
  for (; c < pixels.channels; c += kLaneCount)
    both_sides<kTileIn, kTileIn>(AnyPixels{pixels, c}, input_line,
                                 ToPositions{to.values + c, to.position});
}

HWY_ATTR void transform_gradient(const TilePixels& pixels, const TileMatrix& to, float* sum) {
  for (std::int64_t c = 0; c < pixels.channels; c += kLaneCount) {
    Vector all = hn::LoadU(kLanes, sum + c);
    const AnyPixels load{pixels, c};
    both_sides<kTileOut, kTileIn>(
        [&](int i) HWY_ATTR {
          const Vector value = load(i);
          all = hn::Add(all, value);
          return value;
        },
        gradient_line, ToPositions{to.values + c, to.position});
    hn::StoreU(all, kLanes, sum + c);
  }
}

// kIsPlain: nothing is added and nothing is masked, so no check is needed for each pixel.
template <bool kIsPlain>
HWY_INLINE void write_output(const TileMatrix& from, const float* bias, const TileResult& to) {
  const Vector zero = hn::Zero(kLanes);
  float* const* const values = to.values;
  for (std::int64_t c = 0; c < to.channels; c += kLaneCount) {
    const std::int64_t left = to.channels - c;
    const Vector start = bias ? load_some(bias + c, left) : zero;
    both_sides<kTileIn, kTileOut>(
        [&](int i) HWY_ATTR { return hn::LoadU(kLanes, from.values + i * from.position + c); },
        output_line,
        [&](int i, Vector value) HWY_ATTR {
          if (values[i] == nullptr) return;
          Vector sum = hn::Add(value, start);
          if (!kIsPlain && to.add) sum = hn::Add(sum, load_some(to.add[i] + c, left));
          if (to.has_relu) sum = hn::Max(sum, zero);
          if (!kIsPlain && to.signs)
            sum = hn::IfThenElseZero(hn::Gt(load_some(to.signs[i] + c, left), zero), sum);
          store_some(sum, values[i] + c, left);
        });
  }
}

HWY_ATTR void transform_output(const TileMatrix& from, const float* bias, const TileResult& to) {
  if (to.add || to.signs)
    write_output<false>(from, bias, to);
  else
    write_output<true>(from, bias, to);
}

HWY_ATTR void transform_weights(const float* weights, std::int64_t in, std::int64_t out,
                                float* to) {
  const std::int64_t position = in * whole_panels(out);
  for (std::int64_t i = 0; i < in; ++i)
    for (std::int64_t o = 0; o < whole_panels(out); o += kLaneCount) {
      float* first = to + o / kPanel * kPanel * in + i * kPanel + o % kPanel;
      both_sides<3, kTileIn>(
          [&](int tap) HWY_ATTR {
            return o < out ? load_some(weights + (tap * in + i) * out + o, out - o)
                           : hn::Zero(kLanes);
          },
          weight_line,
          [&](int p, Vector value) HWY_ATTR { hn::StoreU(value, kLanes, first + p * position); });
    }
}

HWY_ATTR void transform_weight_gradient(const float* from, std::int64_t in, std::int64_t out,
                                        float* to) {
  const std::int64_t row = whole_panels(out), position = in * row;
  for (std::int64_t i = 0; i < in; ++i)
    for (std::int64_t o = 0; o < out; o += kLaneCount)
      both_sides<kTileIn, 3>(
          [&](int p) HWY_ATTR { return hn::LoadU(kLanes, from + p * position + i * row + o); },
          weight_gradient_line,
          [&](int tap, Vector value)
              HWY_ATTR { store_some(value, to + (tap * in + i) * out + o, out - o); });
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

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
void transform_output(const TileMatrix& from, const float* bias, const TileResult& to) {
  HWY_DYNAMIC_DISPATCH(transform_output)(from, bias, to);
}
void transform_weights(const float* weights, std::int64_t in, std::int64_t out, float* to) {
  HWY_DYNAMIC_DISPATCH(transform_weights)(weights, in, out, to);
}
void transform_weight_gradient(const float* from, std::int64_t in, std::int64_t out, float* to) {
  HWY_DYNAMIC_DISPATCH(transform_weight_gradient)(from, in, out, to);
}

}  // namespace tutti::kernels
#endif
