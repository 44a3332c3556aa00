// Best exact split of one sorted column.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tutti/learn/base/hash.h"
#include "tutti/learn/tree/exact/exact_data.h"
#include "tutti/learn/tree/grow/row_partition.h"
#include "tutti/learn/tree/split/class_score.h"
#include "tutti/learn/tree/split/split.h"

namespace tutti::learn::tree {

// Values of a column in the rows of a node.
template <class Record>
struct SortedColumn {
  int column = 0;
  std::span<const Record> entries;  // `row` is the code of the value, ascending
  NodeSums missing, zeros;          // count 0: none
  std::uint32_t zero = 0;           // code of the value 0

  std::uint32_t least() const {
    if (entries.empty()) return zero;
    return zeros.count > 0 ? std::min(zero, entries.front().row) : entries.front().row;
  }
  std::uint32_t greatest() const {
    if (entries.empty()) return zero;
    return zeros.count > 0 ? std::max(zero, entries.back().row) : entries.back().row;
  }
  bool has_values() const { return !entries.empty() || zeros.count > 0; }
  bool can_be_split() const { return has_values() && (missing.count > 0 || least() != greatest()); }
};

// Left side of a split, scored by gradient and hessian.
class SquaresSide {
 public:
  SquaresSide(const SplitSearch& search, const NodeSums& node)
      : scales_(search.rules().scales),
        l2_(search.rules().l2),
        is_centred_(search.is_centred()),
        centre_(node),
        all_gradient_(static_cast<double>(node.gradient) * scales_.gradient),
        all_hessian_(static_cast<double>(node.hessian) * scales_.hessian) {}

  template <class Record>
  void add(const Record& record) {
    gradient_ += record.gradient;
    hessian_ += record.hessian;
    ++count_;
  }
  void add(const NodeSums& sums) {
    gradient_ += sums.gradient;
    hessian_ += sums.hessian;
    count_ += sums.count;
  }
  std::int64_t count() const { return count_; }
  double weight() const { return static_cast<double>(hessian_) * scales_.hessian; }
  double score() const {
    if (is_centred_) {
      const double c = centre_.of(gradient_, hessian_) * scales_.gradient;
      return c * c * all_hessian_ / (weight() * (all_hessian_ - weight()));
    }
    const double g = static_cast<double>(gradient_) * scales_.gradient, other = all_gradient_ - g;
    const double left = weight() + l2_, right = all_hessian_ - weight() + l2_;
    return (g * g * right + other * other * left) / (left * right);
  }

 private:
  SumScales scales_;
  double l2_;
  bool is_centred_;
  CentredGradients centre_;
  double all_gradient_, all_hessian_;
  std::int64_t gradient_ = 0, hessian_ = 0, count_ = 0;
};

// Left side of a split, scored by class weights.
class ClassesSide {
 public:
  ClassesSide(const SplitSearch& search, const NodeSums& node)
      : is_entropy_(search.rules().criterion == Criterion::kEntropy),
        scale_(search.rules().scales.hessian),
        has_words_(!node.classes.empty()),
        total_(weights_of(node)),
        left_(total_.size()),
        right_(total_.size()) {}

  template <class Record>
  void add(const Record& record) {
    if (has_words_) {
      left_[record.gradient] += record.hessian * scale_;
    } else {
      left_[0] += static_cast<double>(std::int64_t{record.hessian} - record.gradient) * scale_;
      left_[1] += static_cast<double>(record.gradient) * scale_;
    }
    ++count_;
  }
  void add(const NodeSums& sums) {
    count_ += sums.count;
    const auto weights = weights_of(sums);
    for (std::size_t k = 0; k < left_.size(); ++k) left_[k] += weights[k];
  }
  std::int64_t count() const { return count_; }
  double weight() const {
    double sum = 0;
    for (const double one : left_) sum += one;
    return sum;
  }
  double score() {
    for (std::size_t k = 0; k < left_.size(); ++k) right_[k] = total_[k] - left_[k];
    return class_score(is_entropy_, left_) + class_score(is_entropy_, right_);
  }

 private:
  std::vector<double> weights_of(const NodeSums& sums) const {
    std::vector<double> weights;
    if (!has_words_)
      return {static_cast<double>(sums.hessian - sums.gradient) * scale_,
              static_cast<double>(sums.gradient) * scale_};
    for (const std::int64_t one : sums.classes)
      weights.push_back(static_cast<double>(one) * scale_);
    return weights;
  }

  bool is_entropy_;
  double scale_;
  bool has_words_;
  std::vector<double> total_, left_, right_;
  std::int64_t count_ = 0;
};

// Values with codes up to `code` go left; `next` is the next code, kMissing: none.
struct ExactSplit {
  double score = -std::numeric_limits<double>::infinity();
  std::uint32_t code = 0, next = ExactData::kMissing;
  bool missing_left = false;
  double left_weight = 0;
};

// Requirements on both sides of a split.
class SideLimits {
 public:
  SideLimits(const SplitSearch& search, const NodeSums& node)
      : least_weight_(search.least_hessian(node)),
        weight_(static_cast<double>(node.hessian) * search.rules().scales.hessian),
        least_rows_(search.shape().counts_rows ? search.rules().min_samples_leaf : 0),
        rows_(node.count) {}

  double weight() const { return weight_; }  // of the node
  template <class Side>
  bool allow(const Side& left) const {
    const double weight = left.weight();
    return weight >= least_weight_ && weight_ - weight >= least_weight_ &&
           static_cast<double>(left.count()) >= least_rows_ &&
           static_cast<double>(rows_ - left.count()) >= least_rows_;
  }

 private:
  double least_weight_, weight_, least_rows_;
  std::int64_t rows_;
};

// Returns the first split of highest score that `limits` and `may_split_at(code, next)` allow.
template <class Side, class Record, class MaySplitAt>
ExactSplit sweep(const SortedColumn<Record>& column, Side side, bool missing_left,
                 const SideLimits& limits, const MaySplitAt& may_split_at) {
  ExactSplit best;
  bool has_zeros = column.zeros.count > 0;
  if (missing_left) side.add(column.missing);
  const Record *at = column.entries.data(), *const end = at + column.entries.size();
  const auto next_code = [&] {
    if (at == end) return has_zeros ? column.zero : ExactData::kMissing;
    return has_zeros ? std::min(column.zero, at->row) : at->row;
  };
  for (std::uint32_t code = next_code(); code != ExactData::kMissing;) {
    if (has_zeros && code == column.zero) {
      side.add(column.zeros);
      has_zeros = false;
    }
    for (; at != end && at->row == code; ++at) side.add(*at);
    const std::uint32_t next = next_code();
    // With missing values, a split may separate all values from the missing ones.
    if (next == ExactData::kMissing && (missing_left || column.missing.count == 0)) break;
    if (limits.allow(side) && may_split_at(code, next)) {
      const double score = side.score();
      if (score > best.score) best = {score, code, next, missing_left, side.weight()};
    }
    code = next;
  }
  return best;
}

// Replaces `best` by the best split of this column if that has a higher gain. `random` is a random number of the node.
template <class Side, class Record>
void try_sorted(const ExactData& data, const SplitSearch& search,
                const SortedColumn<Record>& column, const NodeSums& node, std::uint64_t random,
                Split& best) {
  if (!column.can_be_split()) return;
  const SideLimits limits(search, node);
  const double low = data.value(column.column, column.least());
  const double high = data.value(column.column, column.greatest());
  const bool is_random = search.rules().random_thresholds && low < high;
  const double drawn =
      low + unit(mix(random, static_cast<std::uint64_t>(column.column))) * (high - low);
  const auto may_split_at = [&](std::uint32_t code, std::uint32_t next) {
    return !is_random || (data.value(column.column, code) <= drawn && next != ExactData::kMissing &&
                          data.value(column.column, next) > drawn);
  };
  ExactSplit found = sweep(column, Side(search, node), false, limits, may_split_at);
  if (column.missing.count > 0) {
    const ExactSplit other = sweep(column, Side(search, node), true, limits, may_split_at);
    if (other.score > found.score) found = other;
  }
  Split split;
  split.gain = search.gain(found.score, node);
  split.column = column.column;
  if (found.left_weight <= 0 || !split.is_better_than(best)) return;
  split.bin = static_cast<int>(found.code);
  split.threshold = found.next == ExactData::kMissing ? std::numeric_limits<double>::infinity()
                    : is_random ? data.threshold(column.column, found.code, found.next, drawn)
                                : data.threshold(column.column, found.code, found.next);
  split.left_is_smaller = 2 * found.left_weight < limits.weight();
  if (column.missing.count > 0 ? found.missing_left : !split.left_is_smaller)
    split.left_bins[kMissingBin / 64] |= 1ull << (kMissingBin % 64);
  best = split;
}

}  // namespace tutti::learn::tree
