#include "tutti/learn/tree/sparse/slot_screen.h"

#include <algorithm>

namespace tutti::learn::tree {

SlotScreen::SlotScreen(const SparseBinnedData& data, const SplitSearch& search,
                       const NodeSums& node)
    : data_(data),
      search_(search),
      shape_(search.shape()),
      node_(node),
      words_per_bin_(shape_.words_per_bin()),
      bounds_(search.left_bounds(node)),
      least_rows_(shape_.counts_rows ? search.rules().min_samples_leaf : 0),
      gradient_(static_cast<double>(node.gradient)),
      hessian_(static_cast<double>(node.hessian)),
      l2_(search.rules().l2 / search.rules().scales.hessian),
      is_centred_(search.is_centred()),
      centre_(node) {}

inline void SlotScreen::add(const std::uint64_t* words, Side& side) const {
  if (shape_.kind == Kind::kNarrow) {
    side.gradient += gradient_of(*words);
    side.hessian += hessian_of(*words);
    return;
  }
  side.gradient += static_cast<std::int64_t>(words[0]);
  side.hessian += static_cast<std::int64_t>(words[1]);
  if (shape_.counts_rows) side.count += static_cast<std::int64_t>(words[2]);
}

inline bool SlotScreen::is_allowed(const Side& left) const {
  if (left.hessian < bounds_.least || left.hessian > bounds_.most) return false;
  return least_rows_ <= 0 || (static_cast<double>(left.count) >= least_rows_ &&
                              static_cast<double>(node_.count - left.count) >= least_rows_);
}

inline double SlotScreen::score_of(const Side& left) const {
  const auto h = static_cast<double>(left.hessian);
  if (is_centred_) {
    const double c = centre_.of(left.gradient, left.hessian);
    return c * c * hessian_ / (h * (hessian_ - h));
  }
  const auto g = static_cast<double>(left.gradient);
  const double other = gradient_ - g, one = h + l2_, two = hessian_ - h + l2_;
  return (g * g * two + other * other * one) / (one * two);
}

// Bins below the default bin are summed from the lowest, those above from the highest: both are one side of a split.
double SlotScreen::score(const SlotSums& sums, SlotGroup group) const {
  const int column = data_.column_of(sums.slots[group.begin]);
  const int default_bin = data_.default_bin(column);
  if (default_bin == kMissingBin || data_.bin_of(sums.slots[group.end - 1]) == kMissingBin ||
      search_.bins(column).is_categorical)
    return kUnknown;
  double best = -1;
  Side below;
  std::size_t first = group.begin;
  for (; first < group.end && data_.bin_of(sums.slots[first]) < default_bin; ++first) {
    add(sums.words.data() + first * words_per_bin_, below);
    if (is_allowed(below)) best = std::max(best, score_of(below));
  }
  Side above;
  for (std::size_t i = group.end; i-- > first;) {
    add(sums.words.data() + i * words_per_bin_, above);
    const Side left = {node_.gradient - above.gradient, node_.hessian - above.hessian,
                       node_.count - above.count};
    if (is_allowed(left)) best = std::max(best, score_of(left));
  }
  return best;
}

}  // namespace tutti::learn::tree
