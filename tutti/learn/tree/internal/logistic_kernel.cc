#include "tutti/learn/tree/internal/logistic_kernel.h"

#include <array>

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/learn/tree/internal/logistic_kernel.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::tree::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(x) = 2^n exp(r), |r| <= ln 2 / 2, by a polynomial of degree 6 (error 2e-7; gradients are f32). Products and sums
// are rounded separately, so CPUs with and without fused multiply-add agree.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto limited = hn::Min(hn::Max(x, hn::Set(d, -87.0F)), hn::Set(d, 87.0F));
  const auto n = hn::Round(hn::Mul(limited, hn::Set(d, 1.44269504F)));
  auto r = hn::Sub(limited, hn::Mul(n, hn::Set(d, 0.693359375F)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, -2.12194440e-4F)));
  auto sum = hn::Set(d, 1.0F / 720);
  for (const float factor : {1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F})
    sum = hn::Add(hn::Mul(sum, r), hn::Set(d, factor));
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  return hn::Mul(sum, hn::BitCast(d, power));
}

constexpr std::size_t kBlock = 256;

void gradients_in_vectors(const double* labels, const double* weights, const double* scores,
                          std::size_t size, GradientPair* out) {
  const hn::ScalableTag<float> d;
  alignas(64) std::array<float, kBlock> probabilities;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t block = HWY_MIN(kBlock, size - begin);
    for (std::size_t i = 0; i < block; ++i)
      probabilities[i] = static_cast<float>(-scores[begin + i]);
    for (std::size_t i = block; i < kBlock; ++i) probabilities[i] = 0;
    const auto one = hn::Set(d, 1.0F);
    for (std::size_t i = 0; i < block; i += hn::Lanes(d)) {
      const auto x = hn::Load(d, probabilities.data() + i);
      hn::Store(hn::Div(one, hn::Add(one, exponential(d, x))), d, probabilities.data() + i);
    }
    for (std::size_t i = 0; i < block; ++i) {
      const float p = probabilities[i];
      const float weight = weights == nullptr ? 1.0F : static_cast<float>(weights[begin + i]);
      out[begin + i] = {weight * (p - static_cast<float>(labels[begin + i])),
                        weight * (p * (1 - p))};
    }
  }
}

}  // namespace tutti::learn::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::learn::tree {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

HWY_EXPORT(gradients_in_vectors);

void logistic_gradients(const double* labels, const double* weights, const double* scores,
                        std::size_t size, GradientPair* out) {
  HWY_DYNAMIC_DISPATCH(gradients_in_vectors)(labels, weights, scores, size, out);
}

}  // namespace tutti::learn::tree
#endif
