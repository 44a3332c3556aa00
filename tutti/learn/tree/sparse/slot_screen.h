// Quick scores of the columns of a node, directly from the sums of its slots.
#pragma once

#include <cstdint>
#include <limits>

#include "tutti/learn/tree/sparse/slot_sums.h"
#include "tutti/learn/tree/split/split.h"

namespace tutti::learn::tree {

// Slots of one column: [begin, end) of the lists of SlotSums.
struct SlotGroup {
  std::size_t begin, end;
};

// Screen of one node for splits by gradients and hessians.
class SlotScreen {
 public:
  // Bound of the relative error of a score, which rounds in another order than SplitSearch.
  static constexpr double kError = 1e-9;
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  SlotScreen(const SparseBinnedData& data, const SplitSearch& search, const NodeSums& node);

  // Highest score of the splits of a column. Negative: no split is allowed. kUnknown: the column has missing values or
  // categories.
  double score(const SlotSums& sums, SlotGroup group) const;

 private:
  struct Side {
    std::int64_t gradient = 0, hessian = 0, count = 0;
  };
  void add(const std::uint64_t* words, Side& side) const;
  bool is_allowed(const Side& left) const;
  double score_of(const Side& left) const;

  const SparseBinnedData& data_;
  const SplitSearch& search_;
  const HistogramShape& shape_;
  const NodeSums& node_;
  std::size_t words_per_bin_;
  LeftBounds bounds_;
  double least_rows_, gradient_, hessian_, l2_;
  bool is_centred_;
  CentredGradients centre_;
};

}  // namespace tutti::learn::tree
