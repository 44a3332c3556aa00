#include "tutti/learn/tree/internal/cut_kernel.h"

#include <limits>

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/learn/tree/internal/cut_kernel.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::tree::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Lanes keep the best of their own cuts; the lowest index decides between equal ones, so the number
// of lanes does not matter. One division serves both sides: a/b + c/d = (ad + cb) / (bd).
Cut best_cut_in_vectors(const CutProblem& problem) {
  const hn::CappedTag<double, 8> d;
  const auto none = hn::Set(d, -std::numeric_limits<double>::infinity());
  const auto gradient = hn::Set(d, problem.gradient), hessian = hn::Set(d, problem.hessian);
  const auto l2 = hn::Set(d, problem.l2), least = hn::Set(d, problem.least);
  const auto most = hn::Sub(hessian, least), end = hn::Set(d, problem.cuts);
  auto best = none, best_at = hn::Zero(d), at = hn::Iota(d, 0);
  for (int i = 0; i < problem.cuts; i += static_cast<int>(hn::Lanes(d))) {
    const auto g = hn::LoadU(d, problem.gradients + i), h = hn::LoadU(d, problem.hessians + i);
    const auto other_g = hn::Sub(gradient, g);
    const auto left = hn::Add(h, l2), right = hn::Add(hn::Sub(hessian, h), l2);
    const auto above =
        hn::Add(hn::Mul(hn::Mul(g, g), right), hn::Mul(hn::Mul(other_g, other_g), left));
    const auto score = hn::Div(above, hn::Mul(left, right));
    const auto is_allowed = hn::And(hn::And(hn::Ge(h, least), hn::Le(h, most)), hn::Lt(at, end));
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

int read_words_in_vectors(const WordsProblem& problem, std::int64_t* bins, double* gradients,
                          double* hessians) {
  const hn::CappedTag<double, 8> d;
  const hn::RebindToSigned<decltype(d)> words;
  const auto low = hn::Set(words, 0xffffffff);
  const auto gradient_unit = hn::Set(d, problem.gradient_unit);
  const auto hessian_unit = hn::Set(d, problem.hessian_unit);
  const auto* from = reinterpret_cast<const std::int64_t*>(problem.words);
  std::size_t size = 0;
  for (int i = 0; i < problem.bins; i += static_cast<int>(hn::Lanes(d))) {
    const auto word = hn::LoadU(words, from + i);
    const auto at = hn::Iota(words, i);
    const auto is_there =
        hn::And(hn::Ne(word, hn::Zero(words)), hn::Lt(at, hn::Set(words, problem.bins)));
    if (hn::AllFalse(words, is_there)) continue;
    const auto gradient = hn::ConvertTo(d, hn::ShiftRight<32>(word));
    const auto hessian = hn::ConvertTo(d, hn::And(word, low));
    const auto are_there = hn::RebindMask(d, is_there);
    hn::CompressStore(at, is_there, words, bins + size);
    hn::CompressStore(hn::Mul(gradient, gradient_unit), are_there, d, gradients + size);
    size += hn::CompressStore(hn::Mul(hessian, hessian_unit), are_there, d, hessians + size);
  }
  return static_cast<int>(size);
}

}  // namespace tutti::learn::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::learn::tree {

HWY_EXPORT(best_cut_in_vectors);
HWY_EXPORT(read_words_in_vectors);

Cut best_cut(const CutProblem& problem) {
  return HWY_DYNAMIC_DISPATCH(best_cut_in_vectors)(problem);
}

int read_words(const WordsProblem& problem, std::int64_t* bins, double* gradients,
               double* hessians) {
  return HWY_DYNAMIC_DISPATCH(read_words_in_vectors)(problem, bins, gradients, hessians);
}

}  // namespace tutti::learn::tree
#endif
