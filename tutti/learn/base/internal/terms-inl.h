// The logistic loss and its derivatives, compiled once per instruction set.
#if defined(TUTTI_LEARN_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_LEARN_TERMS_INL_H_
#undef TUTTI_LEARN_TERMS_INL_H_
#else
#define TUTTI_LEARN_TERMS_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// With e = exp(-|z|) the loss max(-z, 0) + log(1 + e) cannot overflow.
template <class T, class D, class V>
HWY_INLINE V logistic_vector(D d, V margin, V label, V weight, V& first, V& second) {
  const V zero = hn::Zero(d), one = hn::Set(d, T{1});
  const V z = hn::Mul(margin, label);
  const V e = hn::Exp(d, hn::Neg(hn::Abs(z)));
  const V p = hn::Div(one, hn::Add(one, e));
  const V wrong =
      hn::IfThenElse(hn::Ge(z, zero), hn::Mul(e, p), p);  // probability of the other label
  first = hn::Neg(hn::Mul(weight, hn::Mul(label, wrong)));
  second = hn::Mul(weight, hn::Mul(e, hn::Mul(p, p)));
  return hn::Mul(weight, hn::Add(hn::Max(hn::Neg(z), zero), hn::Log1p(d, e)));
}

template <class T>
double logistic_terms_any(const T* HWY_RESTRICT margins, const T* HWY_RESTRICT labels,
                          const T* HWY_RESTRICT weights, std::int64_t count, T* HWY_RESTRICT first,
                          T* HWY_RESTRICT second) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  double total = 0;
  for (std::int64_t begin = 0; begin < count; begin += 256) {  // keeps sums in f32 short
    const std::int64_t end = begin + 256 < count ? begin + 256 : count;
    auto sum = hn::Zero(d);
    for (std::int64_t i = begin; i < end; i += lanes) {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(end - i));
      const auto weight = weights != nullptr ? hn::MaskedLoad(mask, d, weights + i)
                                             : hn::IfThenElseZero(mask, hn::Set(d, T{1}));
      auto one = hn::Zero(d), two = hn::Zero(d);
      sum = hn::Add(sum, logistic_vector<T>(d, hn::MaskedLoad(mask, d, margins + i),
                                            hn::MaskedLoad(mask, d, labels + i), weight, one, two));
      hn::BlendedStore(one, mask, d, first + i);
      hn::BlendedStore(two, mask, d, second + i);
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  return total;
}

double logistic_terms_f32(const float* margins, const float* labels, const float* weights,
                          std::int64_t count, float* first, float* second) {
  return logistic_terms_any(margins, labels, weights, count, first, second);
}
double logistic_terms_f64(const double* margins, const double* labels, const double* weights,
                          std::int64_t count, double* first, double* second) {
  return logistic_terms_any(margins, labels, weights, count, first, second);
}

}  // namespace tutti::learn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TUTTI_LEARN_TERMS_INL_H_
