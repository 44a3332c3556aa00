#include "tutti/learn/tree/split/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tutti/learn/base/hash.h"
#include "tutti/learn/tree/split/class_score.h"
#include "tutti/learn/tree/split/split_kernel.h"

namespace tutti::learn::tree {

// Candidate splits: entries [first, end) may be the last ones on the left; `missing_left`: missing values go left.
struct SplitSearch::SplitRange {
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

// Smallest integer that is at least `bound` in units of `unit`.
std::int64_t first_above(double bound, double unit) {
  auto number = static_cast<std::int64_t>(std::ceil(bound / unit));
  while (static_cast<double>(number) * unit < bound) ++number;
  while (static_cast<double>(number - 1) * unit >= bound) --number;
  return number;
}

// Bin after which a threshold falls that is uniform between the smallest and the largest value of the bins [low, high]:
// `fraction` of the way. Within a bin it moves to the nearer end.
int draw_bin(const ColumnBins& bins, int low, int high, double fraction) {
  const double threshold =
      bins.smallest[low] * (1 - fraction) + bins.largest[high] * fraction;  // cannot overflow
  const auto first = bins.largest.begin();
  const int at = static_cast<int>(std::upper_bound(first + low, first + high, threshold) - first);
  const double middle = bins.smallest[at] / 2 + bins.largest[at] / 2;
  return std::clamp(threshold > middle ? at : at - 1, low, high - 1);
}

void set_bit(Split& split, int bin) {
  split.left_bins[static_cast<std::size_t>(bin) / 64] |= 1ull << (bin % 64);
}

}  // namespace

double SplitSearch::least_hessian(const NodeSums& node) const {
  const double least = std::max(rules_.min_child_weight, std::numeric_limits<double>::min());
  if (rules_.min_samples_leaf <= 1 || node.count == 0 || shape_.counts_rows) return least;
  const double mean =
      static_cast<double>(node.hessian) * rules_.scales.hessian / static_cast<double>(node.count);
  return std::max(least, (rules_.min_samples_leaf - 0.5) * mean);
}

LeftBounds SplitSearch::left_bounds(const NodeSums& node) const {
  const double unit = rules_.scales.hessian, least = least_hessian(node);
  const double most = static_cast<double>(node.hessian) * unit - least;
  if (!(most >= least)) return {};
  LeftBounds bounds = {first_above(least, unit), first_above(most, unit)};
  if (static_cast<double>(bounds.most) * unit > most) --bounds.most;
  return bounds;
}

double SplitSearch::score(const NodeSums& node) const {
  if (counts_classes())
    return class_score(rules_.criterion == Criterion::kEntropy, class_weights(node, rules_));
  const double g = static_cast<double>(node.gradient) * rules_.scales.gradient;
  const double h = static_cast<double>(node.hessian) * rules_.scales.hessian + rules_.l2;
  return h > 0 ? g * g / h : 0;
}

SplitSearch::Candidate SplitSearch::best_of(const ColumnSums& sums, const NodeSums& node,
                                            SplitRange range) const {
  if (shape_.counts_rows && rules_.min_samples_leaf > 1) limit_rows(sums, node, range);
  if (range.first >= range.end) return {};
  return counts_classes() ? best_of_classes(sums, node, range) : best_of_squares(sums, node, range);
}

// Restricts the candidates to those with enough rows on both sides.
void SplitSearch::limit_rows(const ColumnSums& sums, const NodeSums& node,
                             SplitRange& range) const {
  const auto has_enough = [&](std::int64_t rows) {
    return static_cast<double>(rows) >= rules_.min_samples_leaf;
  };
  std::int64_t left = range.missing_left ? sums.missing_count : 0;
  int first = range.end, end = range.first;
  for (int at = 0; at < range.end; ++at) {
    left += sums.counts[static_cast<std::size_t>(at)];
    if (has_enough(left)) first = std::min(first, at);
    if (has_enough(node.count - left)) end = std::max(end, at + 1);
  }
  range.first = std::max(range.first, first);
  range.end = end;
}

SplitSearch::Candidate SplitSearch::best_of_squares(const ColumnSums& sums, const NodeSums& node,
                                                    const SplitRange& range) const {
  const double all = static_cast<double>(node.hessian) * rules_.scales.hessian;
  const bool centred = is_centred();
  const CentredGradients centre(node);
  std::array<double, ColumnSums::kRoom> gradients, hessians;
  std::int64_t g = range.missing_left ? sums.missing_gradient : 0;
  std::int64_t h = range.missing_left ? sums.missing_hessian : 0;
  for (std::size_t at = 0; at < static_cast<std::size_t>(range.end); ++at) {
    g += sums.gradients[at];
    h += sums.hessians[at];
    gradients[at] = (centred ? centre.of(g, h) : static_cast<double>(g)) * rules_.scales.gradient;
    hessians[at] = static_cast<double>(h) * rules_.scales.hessian;
  }
  std::fill_n(gradients.begin() + range.end, 16, 0.0);
  std::fill_n(hessians.begin() + range.end, 16, 0.0);
  const double gradient = centred ? 0 : static_cast<double>(node.gradient) * rules_.scales.gradient;
  const SplitCandidate candidate =
      best_split({gradients.data() + range.first, hessians.data() + range.first,
                  range.end - range.first, gradient, all, rules_.l2, least_hessian(node)});
  if (candidate.at < 0) return {};
  const int at = candidate.at + range.first;
  return {candidate.score, at, range.missing_left, hessians[at]};
}

SplitSearch::Candidate SplitSearch::best_of_classes(const ColumnSums& sums, const NodeSums& node,
                                                    const SplitRange& range) const {
  const double least = least_hessian(node);
  const double all = static_cast<double>(node.hessian) * rules_.scales.hessian;
  const auto total = class_weights(node, rules_);
  const ClassReader reader = {sums, shape_.words_per_bin(), shape_.kind == Kind::kClasses,
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
  if (!sums.can_be_split()) return;
  if (bins(column).is_categorical)
    try_categories(column, sums, node, mix(random, static_cast<std::uint64_t>(column)), best);
  else
    try_numbers(column, sums, node, mix(random, static_cast<std::uint64_t>(column)), best);
}

void SplitSearch::try_numbers(int column, const ColumnSums& sums, const NodeSums& node,
                              std::uint64_t random, Split& best) const {
  const auto bin_at = [&](int entry) { return static_cast<int>(sums.bins[entry]); };
  // With missing values, a split may separate all values from the missing ones.
  SplitRange range = {0, sums.has_missing() ? sums.size : sums.size - 1};
  int random_bin = -1;
  if (rules_.random_thresholds) {
    const int low = bin_at(0), high = bin_at(sums.size - 1);
    if (low < high) {
      random_bin = draw_bin(bins(column), low, high, unit(random));
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
  if (found.at < 0) return;
  // Among splits that partition the rows identically, the middle one.
  const int bin = random_bin >= 0             ? random_bin
                  : found.at + 1 == sums.size ? bin_at(found.at)
                                              : (bin_at(found.at) + bin_at(found.at + 1)) / 2;
  keep_if_better(column, bin, sums.has_missing(), found, node, best);
}

// Split of a numeric column after `bin`.
void SplitSearch::keep_if_better(int column, int bin, bool has_missing, const Candidate& found,
                                 const NodeSums& node, Split& best) const {
  Split split;
  split.gain = gain(found.score, node);
  split.column = column;
  if (!split.is_better_than(best)) return;
  split.bin = bin;
  for (int word = 0; word < 4; ++word) {
    const int bits = std::clamp(bin + 1 - 64 * word, 0, 64);  // bits of this word that go left
    split.left_bins[word] = bits == 64 ? ~0ull : (1ull << bits) - 1;
  }
  split.left_is_smaller =
      2 * found.left_hessian < static_cast<double>(node.hessian) * rules_.scales.hessian;
  if (has_missing ? found.missing_left : !split.left_is_smaller) set_bit(split, kMissingBin);
  best = split;
}

void SplitSearch::try_histogram(int column, const std::uint64_t* words, const NodeSums& node,
                                std::uint64_t random, Split& best) const {
  const ColumnBins& column_bins = bins(column);
  if (shape_.kind == Kind::kNarrow && !counts_classes() && !rules_.random_thresholds &&
      !column_bins.is_categorical)
    return try_words(column, words, node, best);
  ColumnSums sums;
  read_histogram(shape_, words, column_bins.count(), sums);
  try_column(column, sums, node, random, best);
}

// Same result as try_numbers without skipping empty bins: an empty bin adds nothing, and the first of equal splits is
// chosen.
void SplitSearch::try_words(int column, const std::uint64_t* words, const NodeSums& node,
                            Split& best) const {
  const std::uint64_t missing = words[kMissingBin];
  int first = 0, last = bins(column).count() - 1;  // non-empty bins
  while (first < last && words[first] == 0) ++first;
  while (first < last && words[last] == 0) --last;
  if (first == last && (missing == 0 || words[first] == 0)) return;
  std::array<std::uint64_t, kBins + 16> left;
  std::uint64_t sum = 0;
  for (int bin = first; bin <= last; ++bin) left[bin - first] = sum += words[bin];
  const auto size = static_cast<std::size_t>(last - first);
  std::fill_n(left.begin() + static_cast<std::ptrdiff_t>(size) + 1, 16, sum);
  // With missing values, a split may separate all values from the missing ones.
  Candidate found = best_of_words({left.data(), missing != 0 ? size + 1 : size}, node);
  if (missing != 0) {
    for (std::size_t i = 0; i < size + 16; ++i) left[i] += missing;
    Candidate other = best_of_words({left.data(), size}, node);
    other.missing_left = true;
    if (other.score > found.score) found = other;
  }
  if (found.at < 0) return;
  const int bin = first + found.at;
  int next = bin + 1;
  while (next <= last && words[next] == 0) ++next;
  keep_if_better(column, next <= last ? (bin + next) / 2 : bin, missing != 0, found, node, best);
}

// Only few candidates must be compared in f64; `left` can be read 16 words beyond its end.
SplitSearch::Candidate SplitSearch::best_of_words(std::span<const std::uint64_t> left,
                                                  const NodeSums& node) const {
  const double unit = rules_.scales.hessian;
  const double gradient = static_cast<double>(node.gradient) * rules_.scales.gradient;
  const double hessian = static_cast<double>(node.hessian) * unit;
  const LeftBounds bounds = left_bounds(node);
  if (bounds.is_empty()) return {};
  const PackedSplitScan problem = {left.data(),      static_cast<int>(left.size()),
                                   node.gradient,    node.hessian,
                                   rules_.l2 / unit, bounds.least,
                                   bounds.most};
  std::array<std::int32_t, kMaxCandidates + 16> chosen;
  const int count = screen_splits(problem, chosen.data());
  Candidate best;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t word = left[chosen[i]];
    const double g = static_cast<double>(gradient_of(word)) * rules_.scales.gradient;
    const double h = static_cast<double>(hessian_of(word)) * unit;
    const double other_g = gradient - g, one = h + rules_.l2, two = hessian - h + rules_.l2;
    const double score = (g * g * two + other_g * other_g * one) / (one * two);
    if (score > best.score) best = {score, chosen[i], false, h};
  }
  return best;
}

// Categories are sorted by mean gradient: for two classes and for squared loss the optimal partition is a split of this
// order.
void SplitSearch::try_categories(int column, ColumnSums& sums, const NodeSums& node,
                                 std::uint64_t random, Split& best) const {
  ColumnSums ordered = sums;
  if (sums.has_missing()) {
    const auto last = static_cast<std::size_t>(sums.size++);
    sums.bins[last] = kMissingBin;
    sums.gradients[last] = sums.missing_gradient;
    sums.hessians[last] = sums.missing_hessian;
    sums.counts[last] = sums.missing_count;
  }
  std::array<double, ColumnSums::kRoom> keys;
  const auto common =
      node.classes.empty()
          ? std::size_t{0}
          : static_cast<std::size_t>(std::max_element(node.classes.begin(), node.classes.end()) -
                                     node.classes.begin());
  for (std::size_t i = 0; i < static_cast<std::size_t>(sums.size); ++i) {
    double gradient = static_cast<double>(sums.gradients[i]) * rules_.scales.gradient;
    if (shape_.kind == Kind::kClasses)
      gradient = static_cast<double>(
          sums.words[static_cast<std::size_t>(sums.bins[i]) * shape_.words_per_bin() + common]);
    const double hessian = static_cast<double>(sums.hessians[i]) * rules_.scales.hessian;
    keys[i] =
        rules_.random_thresholds ? unit(mix(random, i)) : gradient / (hessian + rules_.l2 + 1e-12);
  }
  std::array<int, ColumnSums::kRoom> order;
  std::iota(order.begin(), order.begin() + sums.size, 0);
  std::stable_sort(order.begin(), order.begin() + sums.size,
                   [&](int a, int b) { return keys[a] < keys[b]; });
  for (std::size_t i = 0; i < static_cast<std::size_t>(sums.size); ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    ordered.bins[i] = sums.bins[from];
    ordered.gradients[i] = sums.gradients[from];
    ordered.hessians[i] = sums.hessians[from];
    ordered.counts[i] = sums.counts[from];
  }
  ordered.size = sums.size;
  SplitRange range = {0, sums.size - 1};
  if (rules_.random_thresholds) {
    range.first = static_cast<int>(below(random, static_cast<std::uint64_t>(range.end)));
    range.end = range.first + 1;
  }
  const Candidate found = best_of(ordered, node, range);
  Split split;
  split.gain = gain(found.score, node);
  split.column = column;
  if (found.at < 0 || !split.is_better_than(best)) return;
  // Categories that do not occur in this node go to the larger side.
  split.left_is_smaller =
      2 * found.left_hessian < static_cast<double>(node.hessian) * rules_.scales.hessian;
  if (!split.left_is_smaller) split.left_bins.fill(~0ull);
  for (int i = 0; i < ordered.size; ++i) {
    const int bin = static_cast<int>(ordered.bins[i]);
    split.left_bins[static_cast<std::size_t>(bin) / 64] &= ~(1ull << (bin % 64));
    if (i <= found.at) set_bit(split, bin);
  }
  best = split;
}

}  // namespace tutti::learn::tree
