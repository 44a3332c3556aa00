#include "tutti/learn/tree/split/class_kernel.h"

#include "tutti/learn/tree/bins/bins.h"

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/learn/tree/split/class_kernel.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::tree::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Scores = hn::CappedTag<float, 16>;
using Words = hn::RebindToUnsigned<Scores>;
using Whole = hn::RebindToSigned<Scores>;

struct ScreenNode {
  hn::Vec<Scores> ones, rows, least, most;

  explicit ScreenNode(const ClassScreen& problem)
      : ones(hn::Set(Scores(), static_cast<float>(problem.ones))),
        rows(hn::Set(Scores(), static_cast<float>(problem.rows))),
        least(hn::Set(Scores(), static_cast<float>(problem.least))),
        most(hn::Set(Scores(), static_cast<float>(problem.most))) {}
};

// One column per lane of a vector. The best score is kept as a fraction: a comparison takes two products, whereas a
// division would take as long as everything else.
struct ScreenLanes {
  hn::Vec<Words> left;
  hn::Vec<Scores> best_above, best_below;

  ScreenLanes()
      : left(hn::Zero(Words())),
        best_above(hn::Zero(Scores())),
        best_below(hn::Set(Scores(), 1.0F)) {}

  template <bool kHasBounds>
  HWY_INLINE void take(hn::Vec<Words> bin, const ScreenNode& node) {
    const Scores d;
    const Whole whole;
    left = hn::Add(left, bin);
    const auto rows = hn::ConvertTo(d, hn::BitCast(whole, hn::And(left, hn::Set(Words(), 0xffff))));
    const auto ones = hn::ConvertTo(d, hn::BitCast(whole, hn::ShiftRight<16>(left)));
    const auto other_rows = hn::Sub(node.rows, rows), other_ones = hn::Sub(node.ones, ones);
    // 0 if a side has no rows.
    auto above =
        hn::MulAdd(hn::Mul(ones, ones), other_rows, hn::Mul(hn::Mul(other_ones, other_ones), rows));
    if constexpr (kHasBounds)
      above = hn::IfThenElseZero(hn::And(hn::Ge(rows, node.least), hn::Le(rows, node.most)), above);
    const auto below = hn::Mul(rows, other_rows);
    const auto is_better = hn::Gt(hn::Mul(above, best_below), hn::Mul(best_above, below));
    best_above = hn::IfThenElse(is_better, above, best_above);
    best_below = hn::IfThenElse(is_better, below, best_below);
  }
};

// Two vectors at a time hide the latency of each other's operations.
template <bool kHasBounds, bool kHasLess, int kVectors>
void screen_lanes(const ClassScreen& problem, int first, float* greatest) {
  const Words d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const ScreenNode node(problem);
  ScreenLanes one, two;
  std::uint32_t* HWY_RESTRICT words = problem.words + first;
  const std::uint32_t* HWY_RESTRICT less = kHasLess ? problem.less + first : nullptr;
  const auto bin_at = [&](int at) HWY_ATTR {
    auto bin = hn::LoadU(d, words + at);
    if constexpr (kHasLess) {
      bin = hn::Sub(bin, hn::LoadU(d, less + at));
      hn::StoreU(bin, d, words + at);
    }
    return bin;
  };
  for (int bin = 0; bin < kBins; ++bin) {
    one.template take<kHasBounds>(bin_at(bin * problem.lanes), node);
    if constexpr (kVectors == 2)
      two.template take<kHasBounds>(bin_at(bin * problem.lanes + lanes), node);
  }
  hn::StoreU(hn::Div(one.best_above, one.best_below), Scores(), greatest + first);
  if constexpr (kVectors == 2)
    hn::StoreU(hn::Div(two.best_above, two.best_below), Scores(), greatest + first + lanes);
}

template <bool kHasBounds, bool kHasLess>
void screen_all(const ClassScreen& problem, float* greatest) {
  const int lanes = static_cast<int>(hn::Lanes(Words()));
  int first = 0;
  for (; first + 2 * lanes <= problem.lanes; first += 2 * lanes)
    screen_lanes<kHasBounds, kHasLess, 2>(problem, first, greatest);
  if (first < problem.lanes) screen_lanes<kHasBounds, kHasLess, 1>(problem, first, greatest);
}

void screen_classes_in_vectors(const ClassScreen& problem, float* greatest) {
  const bool has_bounds = problem.least > 1 || problem.most < problem.rows - 1;
  const auto screen =
      has_bounds ? (problem.less != nullptr ? screen_all<true, true> : screen_all<true, false>)
                 : (problem.less != nullptr ? screen_all<false, true> : screen_all<false, false>);
  screen(problem, greatest);
}

}  // namespace tutti::learn::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::learn::tree {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

HWY_EXPORT(screen_classes_in_vectors);

void screen_classes(const ClassScreen& problem, float* greatest) {
  HWY_DYNAMIC_DISPATCH(screen_classes_in_vectors)(problem, greatest);
}

}  // namespace tutti::learn::tree
#endif
