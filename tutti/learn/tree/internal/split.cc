#include "tutti/learn/tree/internal/split.h"

#include <algorithm>
#include <numeric>

#include "tutti/learn/tree/internal/class_score.h"
#include "tutti/learn/tree/internal/cut_kernel.h"
#include "tutti/learn/tree/internal/hash.h"

namespace tutti::learn::tree {

// Entries [first, end) may be the last ones that go left; `missing_left`: the missing rows go left.
struct SplitSearch::CutRange {
  int first = 0, end = 0;
  bool missing_left = false;
};

struct SplitSearch::Candidate {
  double score = -std::numeric_limits<double>::infinity();
  int at = -1;
  bool missing_left = false;
  double left_hessian = 0;
};

namespace {

std::vector<double> class_weights(const NodeSums& node, const SplitRules& rules) {
  if (node.classes.empty()) {
    const double g = static_cast<double>(node.gradient) * rules.scales.gradient;
    return {static_cast<double>(node.hessian) * rules.scales.hessian - g, g};
  }
  std::vector<double> weights;
  for (const std::int64_t sum : node.classes)
    weights.push_back(static_cast<double>(sum) * rules.scales.hessian);
  return weights;
}

void set_bit(Split& split, int bin) {
  split.left_bins[static_cast<std::size_t>(bin) / 64] |= 1ull << (bin % 64);
}

}  // namespace

double SplitSearch::least_hessian(const NodeSums& node) const {
  double least = std::max(rules_.min_child_weight, std::numeric_limits<double>::min());
  if (rules_.min_samples_leaf <= 1 || node.count == 0) return least;
  const double mean =
      static_cast<double>(node.hessian) * rules_.scales.hessian / static_cast<double>(node.count);
  return std::max(least, (rules_.min_samples_leaf - 0.5) * mean);
}

double SplitSearch::score(const NodeSums& node) const {
  if (counts_classes())
    return class_score(rules_.criterion == Criterion::kEntropy, class_weights(node, rules_));
  const double g = static_cast<double>(node.gradient) * rules_.scales.gradient;
  const double h = static_cast<double>(node.hessian) * rules_.scales.hessian + rules_.l2;
  return h > 0 ? g * g / h : 0;
}

SplitSearch::Candidate SplitSearch::best_of(const ColumnSums& sums, const NodeSums& node,
                                            const CutRange& range) const {
  const double least = least_hessian(node);
  const double all = static_cast<double>(node.hessian) * rules_.scales.hessian;
  if (!counts_classes()) {
    std::array<double, ColumnSums::kRoom> gradients, hessians;
    double g = range.missing_left ? sums.missing_gradient : 0;
    double h = range.missing_left ? sums.missing_hessian : 0;
    for (std::size_t at = 0; at < static_cast<std::size_t>(range.end); ++at) {
      gradients[at] = g += sums.gradients[at];
      hessians[at] = h += sums.hessians[at];
    }
    std::fill_n(gradients.begin() + range.end, 16, 0.0);
    std::fill_n(hessians.begin() + range.end, 16, 0.0);
    const Cut cut = best_cut(
        {gradients.data() + range.first, hessians.data() + range.first, range.end - range.first,
         static_cast<double>(node.gradient) * rules_.scales.gradient, all, rules_.l2, least});
    if (cut.at < 0) return {};
    const int at = cut.at + range.first;
    return {cut.score, at, range.missing_left, hessians[static_cast<std::size_t>(at)]};
  }
  const auto total = class_weights(node, rules_);
  const ClassReader reader = {sums, shape_.classes, shape_.kind == Kind::kClasses,
                              rules_.scales.hessian};
  std::vector<double> left(total.size()), right(total.size());
  if (range.missing_left) reader.add_missing(left);
  Candidate best;
  for (int at = 0; at < range.end; ++at) {
    reader.add_entry(at, left);
    const double hessian = std::accumulate(left.begin(), left.end(), 0.0);
    if (at < range.first || hessian < least || all - hessian < least) continue;
    for (std::size_t k = 0; k < left.size(); ++k) right[k] = total[k] - left[k];
    const bool is_entropy = rules_.criterion == Criterion::kEntropy;
    const double score = class_score(is_entropy, left) + class_score(is_entropy, right);
    if (score > best.score) best = {score, at, range.missing_left, hessian};
  }
  return best;
}

void SplitSearch::try_column(int column, ColumnSums& sums, const NodeSums& node,
                             std::uint64_t random, Split& best) const {
  if (!sums.can_be_cut()) return;
  if (bins(column).is_categorical)
    try_categories(column, sums, node, mix(random, static_cast<std::uint64_t>(column)), best);
  else
    try_numbers(column, sums, node, mix(random, static_cast<std::uint64_t>(column)), best);
}

void SplitSearch::try_numbers(int column, const ColumnSums& sums, const NodeSums& node,
                              std::uint64_t random, Split& best) const {
  const auto bin_at = [&](int entry) {
    return static_cast<int>(sums.bins[static_cast<std::size_t>(entry)]);
  };
  // With rows that miss the value, all values may stand on one side and these on the other.
  CutRange range = {0, sums.has_missing() ? sums.size : sums.size - 1};
  int random_bin = -1;
  if (rules_.random_thresholds) {
    // Uniform between the least and the greatest value, as far as the bins tell.
    const auto& edges = bins(column).edges;
    const int low = bin_at(0), high = bin_at(sums.size - 1) - 1;
    if (high >= low) {
      const double from = edges[static_cast<std::size_t>(low)];
      const double value = from + unit(random) * (edges[static_cast<std::size_t>(high)] - from);
      random_bin = static_cast<int>(
          std::lower_bound(edges.begin() + low, edges.begin() + high, value) - edges.begin());
      range.first = static_cast<int>(std::upper_bound(sums.bins.begin(),
                                                      sums.bins.begin() + sums.size, random_bin) -
                                     sums.bins.begin()) -
                    1;
      range.end = range.first + 1;
    }
  }
  Candidate found = best_of(sums, node, range);
  if (sums.has_missing()) {
    range.missing_left = true;
    range.end = std::min(range.end, sums.size - 1);
    const Candidate other = range.end > range.first ? best_of(sums, node, range) : Candidate();
    if (other.score > found.score) found = other;
  }
  Split split;
  split.gain = found.score - score(node);
  split.column = column;
  if (found.at < 0 || !split.is_better_than(best)) return;
  // Among cuts that part the rows alike, the middle one.
  split.bin = random_bin >= 0             ? random_bin
              : found.at + 1 == sums.size ? bin_at(found.at)
                                          : (bin_at(found.at) + bin_at(found.at + 1)) / 2;
  for (int bin = 0; bin <= split.bin; ++bin) set_bit(split, bin);
  split.left_is_smaller =
      2 * found.left_hessian < static_cast<double>(node.hessian) * rules_.scales.hessian;
  if (sums.has_missing() ? found.missing_left : !split.left_is_smaller) set_bit(split, kMissingBin);
  best = split;
}

// Categories in the order of their mean gradient: for two classes and for squares, the best of all
// ways to part them is a cut of this order.
void SplitSearch::try_categories(int column, ColumnSums& sums, const NodeSums& node,
                                 std::uint64_t random, Split& best) const {
  ColumnSums ordered = sums;
  if (sums.has_missing()) {
    const auto last = static_cast<std::size_t>(sums.size++);
    sums.bins[last] = kMissingBin;
    sums.gradients[last] = sums.missing_gradient;
    sums.hessians[last] = sums.missing_hessian;
  }
  std::array<double, ColumnSums::kRoom> keys;
  const auto common =
      node.classes.empty()
          ? std::size_t{0}
          : static_cast<std::size_t>(std::max_element(node.classes.begin(), node.classes.end()) -
                                     node.classes.begin());
  for (std::size_t i = 0; i < static_cast<std::size_t>(sums.size); ++i) {
    double gradient = sums.gradients[i];
    if (shape_.kind == Kind::kClasses)
      gradient = static_cast<double>(
          sums.words[static_cast<std::size_t>(sums.bins[i] * shape_.classes) + common]);
    keys[i] = rules_.random_thresholds ? unit(mix(random, i))
                                       : gradient / (sums.hessians[i] + rules_.l2 + 1e-12);
  }
  std::array<int, ColumnSums::kRoom> order;
  std::iota(order.begin(), order.begin() + sums.size, 0);
  std::stable_sort(order.begin(), order.begin() + sums.size, [&](int a, int b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  for (std::size_t i = 0; i < static_cast<std::size_t>(sums.size); ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    ordered.bins[i] = sums.bins[from];
    ordered.gradients[i] = sums.gradients[from];
    ordered.hessians[i] = sums.hessians[from];
  }
  ordered.size = sums.size;
  CutRange range = {0, sums.size - 1};
  if (rules_.random_thresholds) {
    range.first = static_cast<int>(below(random, static_cast<std::uint64_t>(range.end)));
    range.end = range.first + 1;
  }
  const Candidate found = best_of(ordered, node, range);
  Split split;
  split.gain = found.score - score(node);
  split.column = column;
  if (found.at < 0 || !split.is_better_than(best)) return;
  // Categories that this node does not hold go with the greater side.
  split.left_is_smaller =
      2 * found.left_hessian < static_cast<double>(node.hessian) * rules_.scales.hessian;
  if (!split.left_is_smaller) split.left_bins.fill(~0ull);
  for (int i = 0; i < ordered.size; ++i) {
    const int bin = static_cast<int>(ordered.bins[static_cast<std::size_t>(i)]);
    split.left_bins[static_cast<std::size_t>(bin) / 64] &= ~(1ull << (bin % 64));
    if (i <= found.at) set_bit(split, bin);
  }
  best = split;
}

}  // namespace tutti::learn::tree
