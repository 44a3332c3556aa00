#include "tutti/learn/tree/split/split_kernel.h"

#include <limits>

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/learn/tree/split/split_kernel.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::tree::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Each lane keeps its best candidate; among equal ones the lowest index wins, so the number of lanes does not matter.
// One division serves both sides: a/b + c/d = (ad + cb) / (bd).
SplitCandidate best_split_in_vectors(const SplitScan& problem) {
  const hn::CappedTag<double, 8> d;
  const auto none = hn::Set(d, -std::numeric_limits<double>::infinity());
  const auto gradient = hn::Set(d, problem.gradient), hessian = hn::Set(d, problem.hessian);
  const auto l2 = hn::Set(d, problem.l2), least = hn::Set(d, problem.least);
  const auto most = hn::Sub(hessian, least), end = hn::Set(d, problem.candidates);
  auto best = none, best_at = hn::Zero(d), at = hn::Iota(d, 0);
  for (int i = 0; i < problem.candidates; i += static_cast<int>(hn::Lanes(d))) {
    const auto g = hn::LoadU(d, problem.gradients + i), h = hn::LoadU(d, problem.hessians + i);
    const auto other_g = hn::Sub(gradient, g);
    const auto left = hn::Add(h, l2), right = hn::Add(hn::Sub(hessian, h), l2);
    const auto above =
        hn::Add(hn::Mul(hn::Mul(g, g), right), hn::Mul(hn::Mul(other_g, other_g), left));
    const auto below = hn::Mul(left, right);
    const auto score = hn::Div(above, below);
    const auto has_both = hn::And(hn::Gt(below, hn::Zero(d)), hn::Lt(at, end));
    const auto is_allowed = hn::And(hn::And(hn::Ge(h, least), hn::Le(h, most)), has_both);
    const auto is_better = hn::And(is_allowed, hn::Gt(score, best));
    best = hn::IfThenElse(is_better, score, best);
    best_at = hn::IfThenElse(is_better, at, best_at);
    at = hn::Add(at, hn::Set(d, static_cast<double>(hn::Lanes(d))));
  }
  const auto maximum = hn::MaxOfLanes(d, best);
  const double score = hn::GetLane(maximum);
  if (score == -std::numeric_limits<double>::infinity()) return {};
  const auto far = hn::Set(d, 1e9);
  const auto first = hn::MinOfLanes(d, hn::IfThenElse(hn::Eq(best, maximum), best_at, far));
  return {static_cast<int>(hn::GetLane(first)), score};
}

// Integers from 0 to 2^32 - 1, of which the upper half is negative when signed.
template <class D, class V>
HWY_INLINE hn::Vec<D> to_float(D d, V unsigned_numbers) {
  const hn::RebindToSigned<D> whole;
  const auto number = hn::ConvertTo(d, hn::BitCast(whole, unsigned_numbers));
  return hn::IfThenElse(hn::Lt(number, hn::Zero(d)), hn::Add(number, hn::Set(d, 0x1p32F)), number);
}

int screen_splits_in_vectors(const PackedSplitScan& problem, std::int32_t* chosen) {
  // Upper bound of the relative error of a score: a few roundings of 2^-24.
  constexpr float kError = 1e-5F;
  constexpr std::uint32_t kSign = 0x80000000;
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> whole;
  const hn::RebindToUnsigned<decltype(d)> words;
  HWY_ALIGN float scores[kMaxCandidates + 16];
  const auto gradient = hn::Set(whole, static_cast<std::int32_t>(problem.gradient));
  const auto hessian = hn::Set(words, static_cast<std::uint32_t>(problem.hessian));
  const auto l2 = hn::Set(d, static_cast<float>(problem.l2));
  const auto least = hn::Set(words, static_cast<std::uint32_t>(problem.least));
  // Unsigned comparison: flips the sign bit and compares as signed.
  const auto sign = hn::Set(words, kSign);
  const auto range = hn::Set(
      whole,
      static_cast<std::int32_t>(static_cast<std::uint32_t>(problem.most - problem.least) ^ kSign));
  const auto none = hn::Set(d, -1.0F);
  const auto step = hn::Set(whole, static_cast<std::int32_t>(hn::Lanes(d)));
  const auto end = hn::Set(whole, problem.candidates);
  auto best = none;
  auto at = hn::Iota(whole, 0);
  for (int i = 0; i < problem.candidates;
       i += static_cast<int>(hn::Lanes(d)), at = hn::Add(at, step)) {
    hn::Vec<decltype(words)> low, high;
    hn::LoadInterleaved2(words, reinterpret_cast<const std::uint32_t*>(problem.left + i), low,
                         high);
    const auto g_left = hn::BitCast(whole, high);
    const auto g = hn::ConvertTo(d, g_left), other_g = hn::ConvertTo(d, hn::Sub(gradient, g_left));
    const auto left = hn::Add(to_float(d, low), l2);
    const auto right = hn::Add(to_float(d, hn::Sub(hessian, low)), l2);
    const auto above =
        hn::Add(hn::Mul(hn::Mul(g, g), right), hn::Mul(hn::Mul(other_g, other_g), left));
    const auto below = hn::Mul(left, right);
    const auto over = hn::BitCast(whole, hn::Xor(hn::Sub(low, least), sign));
    const auto is_inside = hn::RebindMask(d, hn::AndNot(hn::Gt(over, range), hn::Lt(at, end)));
    const auto is_allowed = hn::And(is_inside, hn::Gt(below, hn::Zero(d)));
    const auto score = hn::IfThenElse(is_allowed, hn::Div(above, below), none);
    hn::Store(score, d, scores + i);
    best = hn::Max(best, score);
  }
  const float greatest = hn::GetLane(hn::MaxOfLanes(d, best));
  if (greatest < 0) return 0;
  const auto enough = hn::Set(d, greatest * (1 - kError));
  std::size_t count = 0;
  at = hn::Iota(whole, 0);
  for (int i = 0; i < problem.candidates;
       i += static_cast<int>(hn::Lanes(d)), at = hn::Add(at, step)) {
    const auto is_chosen = hn::RebindMask(whole, hn::Ge(hn::Load(d, scores + i), enough));
    if (!hn::AllFalse(whole, is_chosen))
      count += hn::CompressStore(at, is_chosen, whole, chosen + count);
  }
  return static_cast<int>(count);
}

}  // namespace tutti::learn::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::learn::tree {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

HWY_EXPORT(best_split_in_vectors);
HWY_EXPORT(screen_splits_in_vectors);

SplitCandidate best_split(const SplitScan& problem) {
  return HWY_DYNAMIC_DISPATCH(best_split_in_vectors)(problem);
}

int screen_splits(const PackedSplitScan& problem, std::int32_t* chosen) {
  return HWY_DYNAMIC_DISPATCH(screen_splits_in_vectors)(problem, chosen);
}

}  // namespace tutti::learn::tree
#endif
