#include "tutti/learn/tree/grow/node_rules.h"

namespace tutti::learn::tree {

bool may_split(const GrownNode& node, const GrowOptions& options, const SplitRules& rules) {
  const auto count = static_cast<double>(node.sums.count);
  if (options.max_depth > 0 && node.depth >= options.max_depth) return false;
  if (count < options.min_samples_split || count < 2 * rules.min_samples_leaf) return false;
  if (!options.is_classification) return true;
  if (node.sums.classes.empty())
    return node.sums.gradient != 0 && node.sums.gradient != node.sums.hessian;
  return *std::max_element(node.sums.classes.begin(), node.sums.classes.end()) != node.sums.hessian;
}

void keep_if_good(GrownNode& node, const GrowOptions& options, const SplitSearch& search) {
  if (!node.split.exists()) return;
  // Rounding errors can look like a gain, and can hide that a split of two classes has no gain yet.
  const double noise = 1e-12 * search.score(node.sums);
  const bool is_good = options.is_classification && options.min_gain <= 0
                           ? node.split.gain > -noise
                           : node.split.gain > std::max(options.min_gain, noise);
  if (!is_good) node.split = Split();
}

}  // namespace tutti::learn::tree
