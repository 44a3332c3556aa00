#include "tutti/kernels/conv3d/volume_kernels.h"

// Sizeless vectors (SVE, RVV) cannot be stored in arrays of sums.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/conv3d/volume_first.cc"
#include <hwy/foreach_target.h>
// Included after foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::CappedTag<float, 8>;
using Vector = hn::Vec<Lanes>;

Extent pooled_of(const Extent& extent) {
  return Extent{extent.depth - 2, extent.height - 2, extent.width - 2}.halved();
}

// Offsets of the inputs of the eight pooled voxels, relative to that of voxel 0.
struct Offsets {
  explicit Offsets(const Extent& extent) {
    for (int v = 0; v < 8; ++v)
      at[v] = ((v >> 2) * extent.height + (v >> 1 & 1)) * extent.width + (v & 1);
  }
  std::int64_t at[8];
};

// Computes all filters of one output voxel, one register of filters at a time: eight sums, one for each pooled voxel,
// accumulated over the kernel positions.
HWY_ATTR void first_layer_voxel(const float* corner, const Extent& extent, const Offsets& voxel,
                                const float* weights, const float* bias, std::int64_t filters,
                                float slope, float* output, std::uint8_t* signs) {
  const Lanes d;
  const hn::Rebind<std::int32_t, Lanes> di;
  const hn::Rebind<std::uint8_t, Lanes> du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t f = 0; f < filters; f += lanes) {
    Vector sum[8];
    for (Vector& each : sum) each = hn::LoadU(d, bias + f);
    const float* w = weights + f;
    for (int plane = 0; plane < 3; ++plane)
      for (int row = 0; row < 3; ++row) {
        const float* from = corner + (plane * extent.height + row) * extent.width;
        for (int i = 0; i < 3; ++i, w += filters) {
          const Vector weight = hn::LoadU(d, w);
          HWY_UNROLL(8)
          for (int v = 0; v < 8; ++v)
            sum[v] = hn::MulAdd(weight, hn::Set(d, from[voxel.at[v] + i]), sum[v]);
        }
      }
    Vector mean = hn::Zero(d);
    auto bits = hn::Zero(di);
    HWY_UNROLL(8)
    for (int v = 0; v < 8; ++v) {
      const auto is_positive = hn::Gt(sum[v], hn::Zero(d));
      bits = hn::Or(bits, hn::IfThenElseZero(hn::RebindMask(di, is_positive), hn::Set(di, 1 << v)));
      mean = hn::Add(mean, hn::IfThenElse(is_positive, sum[v], hn::Mul(sum[v], hn::Set(d, slope))));
    }
    hn::StoreU(hn::Mul(mean, hn::Set(d, 0.125f)), d, output + f);
    hn::StoreU(hn::DemoteTo(du, bits), du, signs + f);
  }
}

HWY_ATTR void first_layer_plane(const float* input, const float* weights, const float* bias,
                                float* output, std::uint8_t* signs, const Extent& extent,
                                std::int64_t filters, float slope, std::int64_t z) {
  const Extent pooled = pooled_of(extent);
  const Offsets voxel(extent);
  for (std::int64_t y = 0; y < pooled.height; ++y)
    for (std::int64_t x = 0; x < pooled.width; ++x) {
      const std::int64_t at = ((z * pooled.height + y) * pooled.width + x) * filters;
      first_layer_voxel(input + (2 * z * extent.height + 2 * y) * extent.width + 2 * x, extent,
                        voxel, weights, bias, filters, slope, output + at, signs + at);
    }
}

HWY_ATTR void first_layer_backward_voxel(const float* corner, const Extent& extent,
                                         const Offsets& voxel, const float* gradient,
                                         const std::uint8_t* signs, std::int64_t filters,
                                         float slope, float* weights, float* bias) {
  const Lanes d;
  const hn::Rebind<std::int32_t, Lanes> di;
  const hn::Rebind<std::uint8_t, Lanes> du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t f = 0; f < filters; f += lanes) {
    const Vector whole = hn::Mul(hn::LoadU(d, gradient + f), hn::Set(d, 0.125f)),
                 leaked = hn::Mul(whole, hn::Set(d, slope));
    const auto bits = hn::PromoteTo(di, hn::LoadU(du, signs + f));
    Vector each[8], sum = hn::LoadU(d, bias + f);
    HWY_UNROLL(8)
    for (int v = 0; v < 8; ++v) {
      const auto is_positive = hn::Ne(hn::And(bits, hn::Set(di, 1 << v)), hn::Zero(di));
      each[v] = hn::IfThenElse(hn::RebindMask(d, is_positive), whole, leaked);
      sum = hn::Add(sum, each[v]);
    }
    hn::StoreU(sum, d, bias + f);
    float* w = weights + f;
    for (int plane = 0; plane < 3; ++plane)
      for (int row = 0; row < 3; ++row) {
        const float* from = corner + (plane * extent.height + row) * extent.width;
        for (int i = 0; i < 3; ++i, w += filters) {
          Vector even = hn::LoadU(d, w), odd = hn::Zero(d);  // two chains hide the latency
          HWY_UNROLL(4)
          for (int v = 0; v < 8; v += 2) {
            even = hn::MulAdd(each[v], hn::Set(d, from[voxel.at[v] + i]), even);
            odd = hn::MulAdd(each[v + 1], hn::Set(d, from[voxel.at[v + 1] + i]), odd);
          }
          hn::StoreU(hn::Add(even, odd), d, w);
        }
      }
  }
}

HWY_ATTR void first_layer_backward_plane(const float* input, const float* gradient,
                                         const std::uint8_t* signs, float* weights, float* bias,
                                         const Extent& extent, std::int64_t filters, float slope,
                                         std::int64_t z) {
  const Extent pooled = pooled_of(extent);
  const Offsets voxel(extent);
  for (std::int64_t y = 0; y < pooled.height; ++y)
    for (std::int64_t x = 0; x < pooled.width; ++x) {
      const std::int64_t at = ((z * pooled.height + y) * pooled.width + x) * filters;
      first_layer_backward_voxel(input + (2 * z * extent.height + 2 * y) * extent.width + 2 * x,
                                 extent, voxel, gradient + at, signs + at, filters, slope, weights,
                                 bias);
    }
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

HWY_EXPORT(first_layer_plane);
HWY_EXPORT(first_layer_backward_plane);

void first_layer_plane(const float* input, const float* weights, const float* bias, float* output,
                       std::uint8_t* signs, const Extent& extent, std::int64_t filters, float slope,
                       std::int64_t z) {
  HWY_DYNAMIC_DISPATCH(first_layer_plane)
  (input, weights, bias, output, signs, extent, filters, slope, z);
}

void first_layer_backward_plane(const float* input, const float* gradient,
                                const std::uint8_t* signs, float* weights, float* bias,
                                const Extent& extent, std::int64_t filters, float slope,
                                std::int64_t z) {
  HWY_DYNAMIC_DISPATCH(first_layer_backward_plane)
  (input, gradient, signs, weights, bias, extent, filters, slope, z);
}

}  // namespace tutti::kernels
#endif
