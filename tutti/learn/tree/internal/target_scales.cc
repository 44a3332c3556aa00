#include "tutti/learn/tree/internal/target_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/rank_rows.h"

namespace tutti::learn::tree {
namespace {

constexpr double kSteps = 0x1p30;
constexpr double kLabelSteps = 0x1p61;  // of the sum of all labels
// Maximum weight in a narrow record; ten copies of a row in a bootstrap sample are already rare.
constexpr double kNarrowWeight = 15;

[[noreturn]] void refuse(const std::string& what) {
  throw ConfigError("DDL-9-20", what);
}

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double weight = 0;                                              // maximum
  double least_weight = std::numeric_limits<double>::infinity();  // above 0
  double has_fraction = 0;                                        // 1 if a weight is not an integer
};

void check_row(const Targets& targets, std::size_t row, int classes) {
  const double label = targets.labels[row];
  const bool is_class = label >= 0 && label < classes && label == std::floor(label);
  if (!std::isfinite(label) || (classes > 0 && !is_class))
    refuse(fmt::format("row {}: the label {} is not {}.", row, label,
                       classes > 0 ? fmt::format("one of 0 to {}", classes - 1) : "a number"));
  if (targets.weights.empty()) return;
  const double weight = targets.weights[row];
  if (!std::isfinite(weight) || weight < 0)
    refuse(fmt::format("row {}: the weight {} is not a number of at least 0.", row, weight));
}

// Returns whether all labels are classes; branch-free.
bool are_classes(std::span<const double> labels, int classes) {
  bool are_all = true;
  for (const double label : labels) {
    const double inside = label >= 0 && label < classes ? label : -0.5;
    are_all &= static_cast<double>(static_cast<int>(inside)) == label;
  }
  return are_all;
}

Extent extent_of(const Targets& targets, int classes, std::size_t begin, std::size_t end) {
  Extent extent;
  if (classes > 0 && targets.weights.empty() &&
      are_classes(targets.labels.subspan(begin, end - begin), classes))
    return {0, static_cast<double>(classes - 1), 1, 1, 0};
  for (std::size_t i = begin; i < end; ++i) {
    check_row(targets, i, classes);
    const double weight = targets.weights.empty() ? 1 : targets.weights[i];
    if (weight == 0) continue;
    extent.low = std::min(extent.low, targets.labels[i]);
    extent.high = std::max(extent.high, targets.labels[i]);
    extent.weight = std::max(extent.weight, weight);
    extent.least_weight = std::min(extent.least_weight, weight);
    if (weight != std::floor(weight)) extent.has_fraction = 1;
  }
  return extent;
}

Extent extent_of(const Targets& targets, std::int64_t rows, int classes, Threads& threads) {
  if (static_cast<std::int64_t>(targets.labels.size()) != rows)
    refuse(fmt::format("there are {} rows and {} labels.", rows, targets.labels.size()));
  if (!targets.weights.empty() && static_cast<std::int64_t>(targets.weights.size()) != rows)
    refuse(fmt::format("there are {} rows and {} weights.", rows, targets.weights.size()));
  Extent all;
  std::mutex mutex;
  threads.for_range(rows, 65536, [&](std::int64_t begin, std::int64_t end) {
    const Extent part =
        extent_of(targets, classes, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    const std::lock_guard lock(mutex);
    all.low = std::min(all.low, part.low);
    all.high = std::max(all.high, part.high);
    all.weight = std::max(all.weight, part.weight);
    all.least_weight = std::min(all.least_weight, part.least_weight);
    all.has_fraction = std::max(all.has_fraction, part.has_fraction);
  });
  return all;
}

void reduce_extent(Extent& extent, comm::Communicator& communicator) {
  double maxima[] = {-extent.low, extent.high, extent.weight, -extent.least_weight,
                     extent.has_fraction};
  communicator.all_reduce(Buffer::of<double>(maxima), ReduceOp::kMax);
  extent = {-maxima[0], maxima[1], maxima[2], -maxima[3], maxima[4]};
}

}  // namespace

TargetScales find_scales(const Targets& targets, std::int64_t rows, int classes, Threads& threads,
                         comm::Communicator* communicator, const RowUse& use) {
  Extent extent = extent_of(targets, rows, classes, threads);
  TargetScales scales;
  if (communicator != nullptr) reduce_extent(extent, *communicator);
  const RankRows rank_rows = find_rank_rows(rows, communicator);
  scales.first_row = rank_rows.first;
  scales.rows = rank_rows.total;
  if (extent.weight == 0) refuse("no row has a weight above 0.");
  scales.max_weight = extent.weight;
  scales.has_equal_weights = extent.weight == extent.least_weight;
  const double max_weight = extent.weight * use.of_row;
  const bool is_whole = extent.has_fraction == 0 && max_weight <= kSteps;
  scales.weight_unit = is_whole ? 1 : max_weight / kSteps;
  scales.is_narrow = classes == 2 && is_whole && extent.weight <= kNarrowWeight &&
                     static_cast<double>(rank_rows.total) * extent.weight * 16 < 0x1p31;
  if (classes > 0) return scales;
  scales.label_offset = extent.low / 2 + extent.high / 2;
  const double reach =
      std::max(extent.high - scales.label_offset, scales.label_offset - extent.low);
  const double all_weight = extent.weight * use.of_all * static_cast<double>(rank_rows.total);
  // A power of 2, so integers and other short labels are exact.
  int exponent = 0;
  std::frexp(reach / kLabelSteps * std::max(max_weight, all_weight), &exponent);
  const double label_unit = std::ldexp(1.0, exponent);
  scales.label_unit = reach > 0 ? std::max(label_unit, std::numeric_limits<double>::min()) : 1;
  return scales;
}

}  // namespace tutti::learn::tree
