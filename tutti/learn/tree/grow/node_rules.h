// Split rules that all growth strategies share.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tutti/learn/base/hash.h"
#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

// Returns whether to search a split for the node.
bool may_split(const GrownNode& node, const GrowOptions& options, const SplitRules& rules);

// Labels of the rows of a node (`is_regression`): the intervals of gradient / hessian that rounding allows for each row
// intersect if all labels are equal. Integer sample weights leave no rounding.
class LabelRange {
 public:
  explicit LabelRange(const SplitRules& rules) : rounding_(rules.scales.hessian == 1 ? 0 : 0.5) {}

  template <class Record>
  void add(const Record& record) {
    if (record.hessian == 0) return;
    const auto gradient = static_cast<double>(record.gradient);
    const auto hessian = static_cast<double>(record.hessian);
    // Integer division is exact for integer sample weights.
    const double label =
        rounding_ == 0
            ? static_cast<double>(record.gradient / static_cast<std::int64_t>(record.hessian))
            : gradient / hessian;
    const double slack = rounding_ / hessian + 1e-15 * rounding_ * std::abs(label);
    bounds_[0] = std::max(bounds_[0], label - slack);
    bounds_[1] = std::max(bounds_[1], -(label + slack));
  }
  void add(const LabelRange& other) {
    for (std::size_t i = 0; i < 2; ++i) bounds_[i] = std::max(bounds_[i], other.bounds_[i]);
  }
  void reduce(comm::Communicator* communicator);
  bool has_different_labels() const { return bounds_[0] > -bounds_[1]; }

 private:
  double rounding_;
  // Maxima over the rows of the lower bound and of minus the upper bound.
  std::array<double, 2> bounds_ = {-std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity()};
};

// Discards the split unless its gain exceeds min_gain. A split without a gain is kept if its node is impure: two such
// splits can have a gain together. `has_different_labels` is called for `is_regression` only, where it costs a pass
// over the rows of the node.
template <class HasDifferentLabels>
void keep_if_good(GrownNode& node, const GrowOptions& options, const SplitSearch& search,
                  const HasDifferentLabels& has_different_labels) {
  if (!node.split.exists()) return;
  const double gain = node.split.gain;
  bool is_good;
  if (options.is_regression) {
    // With fractional weights, rounding can look like a gain.
    const bool is_exact = search.rules().scales.hessian == 1;
    is_good = (options.min_gain <= 0 || gain > options.min_gain) &&
              ((is_exact && gain > 0) || has_different_labels());
  } else {
    // Rounding errors can look like a gain, and can hide that a split of two classes has no gain yet.
    const double noise = 1e-12 * search.score(node.sums);
    is_good = options.is_classification && options.min_gain <= 0
                  ? gain > -noise
                  : gain > std::max(options.min_gain, noise);
  }
  if (!is_good) node.split = Split();
}

}  // namespace tutti::learn::tree
