#include "tutti/learn/tree/internal/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/learn/tree/internal/rank_rows.h"

namespace tutti::learn::tree {
namespace {

constexpr double kSteps = 0x1p30;
// Weights of narrow records; ten draws of one row by a bootstrap are already rare.
constexpr double kNarrowWeight = 15;

[[noreturn]] void refuse(const std::string& what) {
  throw ConfigError("DDL-9-20", what);
}

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double weight = 0;        // the greatest
  double has_fraction = 0;  // of a weight: 1 when there is one
};

void check(const Targets& targets, std::int64_t rows, int classes) {
  if (static_cast<std::int64_t>(targets.labels.size()) != rows)
    refuse(fmt::format("there are {} rows and {} labels.", rows, targets.labels.size()));
  if (!targets.weights.empty() && static_cast<std::int64_t>(targets.weights.size()) != rows)
    refuse(fmt::format("there are {} rows and {} weights.", rows, targets.weights.size()));
  for (std::size_t i = 0; i < targets.labels.size(); ++i) {
    const double label = targets.labels[i];
    const bool is_class = label >= 0 && label < classes && label == std::floor(label);
    if (!std::isfinite(label) || (classes > 0 && !is_class))
      refuse(fmt::format("row {}: the label {} is not {}.", i, label,
                         classes > 0 ? fmt::format("one of 0 to {}", classes - 1) : "a number"));
  }
  for (std::size_t i = 0; i < targets.weights.size(); ++i)
    if (!std::isfinite(targets.weights[i]) || targets.weights[i] < 0)
      refuse(fmt::format("row {}: the weight {} is not a number from 0.", i, targets.weights[i]));
}

Extent extent_of(const Targets& targets) {
  Extent extent;
  for (std::size_t i = 0; i < targets.labels.size(); ++i) {
    const double weight = targets.weights.empty() ? 1 : targets.weights[i];
    if (weight == 0) continue;
    extent.low = std::min(extent.low, targets.labels[i]);
    extent.high = std::max(extent.high, targets.labels[i]);
    extent.weight = std::max(extent.weight, weight);
    if (weight != std::floor(weight)) extent.has_fraction = 1;
  }
  return extent;
}

void share(Extent& extent, comm::Communicator& communicator) {
  double maxima[] = {-extent.low, extent.high, extent.weight, extent.has_fraction};
  communicator.all_reduce(Buffer::of<double>(maxima), ReduceOp::kMax);
  extent = {-maxima[0], maxima[1], maxima[2], maxima[3]};
}

}  // namespace

TargetScales find_scales(const Targets& targets, std::int64_t rows, int classes,
                         comm::Communicator* communicator) {
  check(targets, rows, classes);
  Extent extent = extent_of(targets);
  TargetScales scales;
  if (communicator != nullptr) share(extent, *communicator);
  const RankRows place = find_rank_rows(rows, communicator);
  scales.first_row = place.first;
  scales.rows = place.total;
  if (extent.weight == 0) refuse("there is no row with a weight above 0.");
  scales.greatest_weight = extent.weight;
  const bool is_whole = extent.has_fraction == 0 && extent.weight <= kSteps;
  scales.weight_unit = is_whole ? 1 : extent.weight / kSteps;
  scales.is_narrow = classes == 2 && is_whole && extent.weight <= kNarrowWeight &&
                     static_cast<double>(place.total) * extent.weight * 16 < 0x1p31;
  if (classes > 0) return scales;
  scales.label_offset = extent.low / 2 + extent.high / 2;
  const double reach =
      std::max(extent.high - scales.label_offset, scales.label_offset - extent.low);
  const double greatest = reach * extent.weight / scales.weight_unit;
  scales.label_unit = greatest > 0 ? reach * extent.weight / kSteps : 1;
  return scales;
}

}  // namespace tutti::learn::tree
