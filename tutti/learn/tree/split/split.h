// Split search: the column and threshold of highest gain for a node.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tutti/learn/tree/bins/bins.h"
#include "tutti/learn/tree/histogram/column_sums.h"

namespace tutti::learn::tree {

enum class Criterion : std::uint8_t {
  kSquares,  // gradient^2 / (hessian + l2): variance, Newton gain, Gini
  kEntropy,  // classification only
};

struct SplitRules {
  Criterion criterion = Criterion::kSquares;
  double l2 = 0;
  double min_child_weight = 0;  // in units of the data, not of the integer sums
  // Without row counts in the histograms, estimated from hessians if these are not all equal.
  double min_samples_leaf = 1;
  bool random_thresholds = false;  // extra trees: one random threshold per column
  SumScales scales = {};
};

// Sums over the rows of a node.
struct NodeSums {
  std::int64_t gradient = 0, hessian = 0;
  std::int64_t count = 0;             // number of rows
  std::vector<std::int64_t> classes;  // kClasses only
};

struct Split {
  double gain = -std::numeric_limits<double>::infinity();
  int column = -1;                              // -1: none
  int bin = -1;                                 // numeric: bins up to this one go left
  std::array<std::uint64_t, 4> left_bins = {};  // one bit per bin, including the missing bin
  bool left_is_smaller = false;                 // by hessian
  // Exact splits: values up to this one go left. Histogram splits: NaN.
  double threshold = std::numeric_limits<double>::quiet_NaN();
  bool exists() const { return column >= 0; }
  bool goes_left(int at) const {
    return (left_bins[static_cast<std::size_t>(at) / 64] >> (at % 64) & 1) != 0;
  }
  // Columns are tried in any order; between equal gains the lower column wins.
  bool is_better_than(const Split& other) const {
    return gain != other.gain ? gain > other.gain
                              : exists() && (!other.exists() || column < other.column);
  }
};

// Gradients of a node relative to their mean, as needed for the gain without l2: with the centred gradient c of one
// side it is c^2 H / (h (H - h)). The mean is subtracted in integers first, so gradients that are large compared with
// their differences lose no digits. Both sides have the same c up to its sign.
class CentredGradients {
 public:
  explicit CentredGradients(const NodeSums& node)
      : whole_(node.hessian > 0 ? node.gradient / node.hessian : 0),
        gradient_(static_cast<double>(node.gradient - whole_ * node.hessian)),
        hessian_(static_cast<double>(node.hessian)),
        mean_(node.hessian > 0 ? gradient_ / hessian_ : 0) {}

  // Centred gradient of a side with these sums, in units of the sums.
  double of(std::int64_t gradient, std::int64_t hessian) const {
    const auto rest = static_cast<double>(gradient - whole_ * hessian);
    const auto weight = static_cast<double>(hessian);
    return ((2 * rest - gradient_) - mean_ * (2 * weight - hessian_)) / 2;
  }

 private:
  std::int64_t whole_;
  double gradient_, hessian_, mean_;
};

// Limits of the hessian of the left side, in units of the integer sums.
struct LeftBounds {
  std::int64_t least = 0, most = -1;
  bool is_empty() const { return most < least; }
};

// Search for the best split of a node. Thread-safe.
class SplitSearch {
 public:
  SplitSearch(const Bins& bins, const HistogramShape& shape, const SplitRules& rules)
      : bins_(bins), shape_(shape), rules_(rules) {}

  // Replaces `best` by the best split of this column if that has a higher gain. `random` is a random number of the
  // node.
  void try_column(int column, ColumnSums& sums, const NodeSums& node, std::uint64_t random,
                  Split& best) const;

  // The same from the histogram of the column; `words` are those of its bin 0.
  void try_histogram(int column, const std::uint64_t* words, const NodeSums& node,
                     std::uint64_t random, Split& best) const;

  // Score of a node. The gain of a split is the sum of the scores of its sides minus that of the node.
  double score(const NodeSums& node) const;
  // Whether scores are those of CentredGradients, and gains themselves.
  bool is_centred() const {
    return shape_.kind == Kind::kWide && !counts_classes() && rules_.l2 == 0;
  }
  // Gain of a split whose sides have this score.
  double gain(double sides, const NodeSums& node) const {
    return is_centred() ? sides : sides - score(node);
  }
  // Minimum hessian of each side of a split.
  double least_hessian(const NodeSums& node) const;
  LeftBounds left_bounds(const NodeSums& node) const;
  // Whether splits are scored by class weights instead of gradients and hessians.
  bool counts_classes() const {
    return shape_.kind == Kind::kClasses || rules_.criterion == Criterion::kEntropy;
  }
  const SplitRules& rules() const { return rules_; }
  const HistogramShape& shape() const { return shape_; }
  const ColumnBins& bins(int column) const { return bins_.columns[column]; }

 private:
  struct Candidate;
  struct SplitRange;
  Candidate best_of(const ColumnSums& sums, const NodeSums& node, SplitRange range) const;
  Candidate best_of_squares(const ColumnSums& sums, const NodeSums& node,
                            const SplitRange& range) const;
  Candidate best_of_classes(const ColumnSums& sums, const NodeSums& node,
                            const SplitRange& range) const;
  void limit_rows(const ColumnSums& sums, const NodeSums& node, SplitRange& range) const;
  void try_numbers(int column, const ColumnSums& sums, const NodeSums& node, std::uint64_t random,
                   Split& best) const;
  void try_words(int column, const std::uint64_t* words, const NodeSums& node, Split& best) const;
  Candidate best_of_words(std::span<const std::uint64_t> left, const NodeSums& node) const;
  void keep_if_better(int column, int bin, bool has_missing, const Candidate& found,
                      const NodeSums& node, Split& best) const;
  void try_categories(int column, ColumnSums& sums, const NodeSums& node, std::uint64_t random,
                      Split& best) const;

  const Bins& bins_;
  HistogramShape shape_;
  SplitRules rules_;
};

}  // namespace tutti::learn::tree
