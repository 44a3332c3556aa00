#include "tutti/tune/search/acquisition.h"

#include <algorithm>
#include <cmath>
#include <nlopt.hpp>
#include <numeric>

namespace tutti::tune {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kRandomPoints = 1000;
constexpr Index kNearbyPoints = 250;  // near incumbents
constexpr std::size_t kLocalSearches = 4;
constexpr int kMostEvaluations = 40;  // per local search
constexpr int kRounds = 2;            // of discrete and continuous coordinates in turn
constexpr double kMostValues = 64;    // of a discrete coordinate that are all tried
constexpr double kSamePoint = 1e-6;   // distance along every coordinate
constexpr double kMillsSeries = 25;   // from here on the asymptotic series is exact
constexpr double kSqrtHalf = 0.70710678118654752, kLogSqrtTwoPi = 0.91893853320467274;

// (1 - Phi(t)) / phi(t) for t >= 0.
double mills_ratio(double t) {
  return 0.5 * std::erfc(t * kSqrtHalf) * std::exp(0.5 * t * t + kLogSqrtTwoPi);
}

// 1 - t * mills_ratio(t), by its asymptotic series where the difference would cancel.
double mills_deficit(double t) {
  if (t < kMillsSeries) return 1 - t * mills_ratio(t);
  const double s = 1 / (t * t);
  return s * (1 - s * (3 - s * (15 - s * 105)));
}

double log_normal_cdf(double z) {
  if (z > -kMillsSeries) return std::log(0.5 * std::erfc(-z * kSqrtHalf));
  return -0.5 * z * z - kLogSqrtTwoPi + std::log((1 - mills_deficit(-z)) / -z);
}

// d log Phi(z) / dz.
double log_normal_cdf_slope(double z) {
  return std::exp(-0.5 * z * z - kLogSqrtTwoPi - log_normal_cdf(z));
}

// Adds the term f(z) with z = (limit - mean) / deviation to a gradient by the point.
struct Margin {
  Margin(const GpPrediction& prediction, double limit)
      : deviation(std::sqrt(prediction.variance)),
        z((limit - prediction.mean) / deviation),
        deviation_gradient(prediction.variance_gradient / (2 * deviation)),
        gradient(-(prediction.mean_gradient + z * deviation_gradient) / deviation) {}
  double deviation, z;
  VectorXd deviation_gradient, gradient;  // of the deviation and of z
};

bool is_continuous(const Parameter& parameter) {
  return !parameter.distribution.is_categorical() && !parameter.distribution.is_discrete();
}

// The nearest position of a value; of a choice its index.
double snapped(const Parameter& parameter, double position) {
  const Distribution& distribution = parameter.distribution;
  if (distribution.is_categorical()) return position;
  if (!distribution.is_discrete()) return std::clamp(position, 0.0, 1.0);
  return distribution.position_of(distribution.value_at(std::clamp(position, 0.0, 1.0)));
}

double drawn(const Parameter& parameter, Random& random) {
  if (parameter.distribution.is_categorical()) {
    return static_cast<double>(random.below(parameter.distribution.choices.size()));
  }
  return snapped(parameter, random.uniform());
}

// Changes about one coordinate in two of `point` slightly.
VectorXd nearby(const Space& space, VectorXd point, Random& random) {
  for (std::size_t d = 0; d < space.size(); ++d) {
    if (random.uniform() < 0.5) continue;
    double& coordinate = point[static_cast<Index>(d)];
    coordinate = space[d].distribution.is_categorical()
                     ? drawn(space[d], random)
                     : snapped(space[d], coordinate + 0.1 * random.gaussian());
  }
  return point;
}

MatrixXd candidates(const Space& space, const MatrixXd& incumbents, Random& random) {
  const Index near = incumbents.rows() > 0 ? kNearbyPoints : 0;
  MatrixXd points(kRandomPoints + near, static_cast<Index>(space.size()));
  for (Index i = 0; i < kRandomPoints; ++i) {
    for (std::size_t d = 0; d < space.size(); ++d) {
      points(i, static_cast<Index>(d)) = drawn(space[d], random);
    }
  }
  for (Index i = 0; i < near; ++i) {
    const VectorXd incumbent = incumbents.row(i % incumbents.rows()).transpose();
    points.row(kRandomPoints + i) = nearby(space, incumbent, random).transpose();
  }
  return points;
}

// Values of a discrete coordinate to try from `position`: all of a small grid, else the neighbours.
std::vector<double> alternatives(const Parameter& parameter, double position) {
  const Distribution& distribution = parameter.distribution;
  std::vector<double> positions;
  if (distribution.is_categorical()) {
    positions.resize(distribution.choices.size());
    std::iota(positions.begin(), positions.end(), 0);
  } else if (distribution.cardinality() <= kMostValues) {
    for (double i = 0; i < distribution.cardinality(); ++i) {
      positions.push_back(distribution.position_of(distribution.low + i * distribution.step));
    }
  } else {
    for (const double move : {-0.1, -0.01, 0.01, 0.1}) {
      positions.push_back(snapped(parameter, position + move));
    }
  }
  return positions;
}

void improve_discrete(const Acquisition& acquisition, const Space& space, VectorXd& point) {
  for (std::size_t d = 0; d < space.size(); ++d) {
    if (is_continuous(space[d])) continue;
    const auto column = static_cast<Index>(d);
    const std::vector<double> positions = alternatives(space[d], point[column]);
    MatrixXd points = point.transpose().replicate(static_cast<Index>(positions.size()) + 1, 1);
    for (std::size_t i = 0; i < positions.size(); ++i)
      points(static_cast<Index>(i), column) = positions[i];
    Index best = 0;
    acquisition.values(points).maxCoeff(&best);
    point = points.row(best).transpose();
  }
}

struct Climb {
  const Acquisition& acquisition;
  const std::vector<Index>& columns;  // the continuous coordinates
  VectorXd point;
};

double climb(const std::vector<double>& at, std::vector<double>& gradient, void* data) {
  Climb& state = *static_cast<Climb*>(data);
  for (std::size_t i = 0; i < at.size(); ++i) state.point[state.columns[i]] = at[i];
  VectorXd slope;
  const double value = state.acquisition.value_at(state.point, slope);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = slope[state.columns[i]];
  return value;
}

void improve_continuous(const Acquisition& acquisition, const Space& space, VectorXd& point) {
  std::vector<Index> columns;
  std::vector<double> at;
  for (std::size_t d = 0; d < space.size(); ++d) {
    if (!is_continuous(space[d]) || space[d].distribution.is_single()) continue;
    columns.push_back(static_cast<Index>(d));
    at.push_back(point[columns.back()]);
  }
  if (columns.empty()) return;
  Climb state{acquisition, columns, point};
  nlopt::opt optimizer(nlopt::LD_LBFGS, static_cast<unsigned>(at.size()));
  optimizer.set_lower_bounds(0);
  optimizer.set_upper_bounds(1);
  optimizer.set_maxeval(kMostEvaluations);
  optimizer.set_ftol_abs(1e-6);
  optimizer.set_max_objective(&climb, &state);
  double best = 0;
  try {
    optimizer.optimize(at, best);
  } catch (const std::runtime_error&) {
    // Rounding stopped the search: `at` is the best point found.
  }
  for (std::size_t i = 0; i < at.size(); ++i) point[columns[i]] = std::clamp(at[i], 0.0, 1.0);
}

bool is_row_of(const MatrixXd& rows, const VectorXd& point) {
  for (Index i = 0; i < rows.rows(); ++i) {
    if ((rows.row(i).transpose() - point).cwiseAbs().maxCoeff() < kSamePoint) return true;
  }
  return false;
}

}  // namespace

double log_improvement(double z) {
  if (z > -1) {
    const double density = std::exp(-0.5 * z * z - kLogSqrtTwoPi);
    return std::log(density + z * 0.5 * std::erfc(-z * kSqrtHalf));
  }
  return -0.5 * z * z - kLogSqrtTwoPi + std::log(mills_deficit(-z));
}

double log_improvement_slope(double z) {
  if (z > -1) return 0.5 * std::erfc(-z * kSqrtHalf) / std::exp(log_improvement(z));
  const double deficit = mills_deficit(-z);
  return (1 - deficit) / -z / deficit;
}

VectorXd Acquisition::values(const MatrixXd& points) const {
  VectorXd result = VectorXd::Zero(points.rows()), means, variances;
  if (objective) {
    objective->predict(points, means, variances);
    for (Index i = 0; i < points.rows(); ++i) {
      const double deviation = std::sqrt(variances[i]);
      result[i] = std::log(deviation) + log_improvement((best - means[i]) / deviation);
    }
  }
  for (std::size_t c = 0; c < constraints.size(); ++c) {
    constraints[c].predict(points, means, variances);
    for (Index i = 0; i < points.rows(); ++i) {
      result[i] += log_normal_cdf((limits[c] - means[i]) / std::sqrt(variances[i]));
    }
  }
  return result;
}

double Acquisition::value_at(const VectorXd& point, VectorXd& gradient) const {
  double value = 0;
  gradient = VectorXd::Zero(point.size());
  if (objective) {
    const Margin margin(objective->predict_with_gradient(point), best);
    value += std::log(margin.deviation) + log_improvement(margin.z);
    gradient += margin.deviation_gradient / margin.deviation +
                log_improvement_slope(margin.z) * margin.gradient;
  }
  for (std::size_t c = 0; c < constraints.size(); ++c) {
    const Margin margin(constraints[c].predict_with_gradient(point), limits[c]);
    value += log_normal_cdf(margin.z);
    gradient += log_normal_cdf_slope(margin.z) * margin.gradient;
  }
  return value;
}

VectorXd maximize(const Acquisition& acquisition, const Space& space, const MatrixXd& incumbents,
                  const MatrixXd& excluded, Random& random) {
  const MatrixXd points = candidates(space, incumbents, random);
  const VectorXd values = acquisition.values(points);
  std::vector<Index> order(static_cast<std::size_t>(points.rows()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return values[a] > values[b]; });
  std::vector<VectorXd> results;
  for (std::size_t i = 0; i < kLocalSearches; ++i) {
    VectorXd point = points.row(order[i]).transpose();
    for (int round = 0; round < kRounds; ++round) {
      improve_continuous(acquisition, space, point);
      improve_discrete(acquisition, space, point);
    }
    results.push_back(std::move(point));
  }
  const auto value_of = [&](const VectorXd& point) {
    return acquisition.values(point.transpose())[0];
  };
  std::stable_sort(results.begin(), results.end(),
                   [&](const VectorXd& a, const VectorXd& b) { return value_of(a) > value_of(b); });
  for (const VectorXd& point : results) {
    if (!is_row_of(excluded, point)) return point;
  }
  for (const Index i : order) {
    if (!is_row_of(excluded, points.row(i).transpose())) return points.row(i).transpose();
  }
  return results.front();  // a small grid, all of which has been observed
}

}  // namespace tutti::tune
