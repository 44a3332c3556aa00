#include "tutti/learn/tree/internal/base_scores.h"

#include <algorithm>
#include <cmath>

#include "tutti/learn/tree/bins/fixed_point_sum.h"
#include "tutti/learn/tree/bins/rank_rows.h"
#include "tutti/learn/tree/internal/group_quantiles.h"
#include "tutti/learn/tree/internal/target_scales.h"

namespace tutti::learn::tree {
namespace {

double base_quantile(const Targets& targets, double alpha, Threads& threads,
                     comm::Communicator* communicator) {
  const std::size_t rows = targets.labels.size();
  const TargetScales scales =
      find_scales(targets, static_cast<std::int64_t>(rows), 0, threads, communicator);
  const std::vector<std::int32_t> groups(rows);
  const std::vector<double> scores(rows);
  return group_quantiles({groups, targets.labels, scores, targets.weights, scales.max_weight,
                          scales.weight_unit == 1, scales.rows},
                         1, alpha, threads, communicator)[0]
      .value;
}

// Weighted means of the moments of the objective, in fixed point.
std::vector<double> mean_moments(const Objective& objective, const Targets& targets,
                                 comm::Communicator* communicator) {
  const auto outputs = static_cast<std::size_t>(objective.outputs());
  double greatest[] = {1e-300, 1e-300};
  for (std::size_t i = 0; i < targets.labels.size(); ++i) {
    greatest[0] = std::max(greatest[0], std::abs(targets.labels[i]));
    greatest[1] = std::max(greatest[1], targets.weights.empty() ? 1 : targets.weights[i]);
  }
  if (communicator != nullptr)
    communicator->all_reduce(Buffer::of<double>(greatest), ReduceOp::kMax);
  const std::int64_t rows =
      find_rank_rows(static_cast<std::int64_t>(targets.labels.size()), communicator).total;
  const double moment_bound = outputs > 1 ? 1 : greatest[0];  // those of classes are indicators
  const FixedPointSum moment(moment_bound * greatest[1], rows), weight(greatest[1], rows);
  std::vector<std::int64_t> sums(outputs + 1);
  std::vector<double> one(outputs);
  for (std::size_t i = 0; i < targets.labels.size(); ++i) {
    const double w = targets.weights.empty() ? 1 : targets.weights[i];
    std::fill(one.begin(), one.end(), 0.0);
    objective.add_moments(targets.labels[i], w, one);
    for (std::size_t k = 0; k < outputs; ++k) sums[k] += moment.units(one[k]);
    sums[outputs] += weight.units(w);
  }
  if (communicator != nullptr) communicator->all_reduce(Buffer::of<std::int64_t>(sums));
  for (std::size_t k = 0; k < outputs; ++k)
    one[k] = moment.value(sums[k]) / weight.value(sums[outputs]);
  return one;
}

}  // namespace

std::vector<double> base_scores(const Objective& objective, const Targets& targets,
                                Threads& threads, comm::Communicator* communicator) {
  if (const auto alpha = objective.leaf_quantile())
    return {base_quantile(targets, *alpha, threads, communicator)};
  return objective.base(mean_moments(objective, targets, communicator));
}

}  // namespace tutti::learn::tree
