// Impurity criteria for classification: Gini and entropy.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "tutti/learn/tree/histogram/column_sums.h"

namespace tutti::learn::tree {

// Score of a side, higher is purer: sum of squares over the total (Gini), or minus entropy times the total.
inline double class_score(bool is_entropy, std::span<const double> weights) {
  const auto x_log_x = [](double x) { return x > 0 ? x * std::log(x) : 0; };
  double total = 0, squares = 0, logs = 0;
  for (const double weight : weights) {
    total += weight;
    squares += weight * weight;
    if (is_entropy) logs += x_log_x(weight);
  }
  if (is_entropy) return logs - x_log_x(total);
  return total > 0 ? squares / total : 0;
}

// Reads class weights from the per-class sums of the bins (`sums.words`) or, for two classes, from the gradient (weight
// of class 1) and the hessian (weight of both).
struct ClassReader {
  const ColumnSums& sums;
  std::size_t words_per_bin;
  bool has_words;
  double scale;

  void add(int bin, std::int64_t gradient, std::int64_t hessian, std::span<double> weights) const {
    if (!has_words) {
      weights[0] += scale * static_cast<double>(hessian - gradient);
      weights[1] += scale * static_cast<double>(gradient);
      return;
    }
    for (std::size_t k = 0; k < weights.size(); ++k)
      weights[k] += scale * static_cast<double>(static_cast<std::int64_t>(
                                sums.words[static_cast<std::size_t>(bin) * words_per_bin + k]));
  }
  void add_entry(int entry, std::span<double> weights) const {
    const auto at = static_cast<std::size_t>(entry);
    add(static_cast<int>(sums.bins[at]), sums.gradients[at], sums.hessians[at], weights);
  }
  void add_missing(std::span<double> weights) const {
    add(kMissingBin, sums.missing_gradient, sums.missing_hessian, weights);
  }
};

}  // namespace tutti::learn::tree
