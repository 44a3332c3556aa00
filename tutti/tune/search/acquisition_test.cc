#include "tutti/tune/search/acquisition.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti::tune {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(LogImprovement, MatchesTheIntegralOverItsRange) {
  for (const double z : {-6.0, -3.0, -1.5, -0.9, 0.0, 2.0, 5.0}) {
    // The integral of max(z + x, 0) times the normal density.
    double sum = 0;
    for (int i = 0; i < 200000; ++i) {
      const double x = -10 + (i + 0.5) * 1e-4;
      sum += std::max(z + x, 0.0) * std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI) * 1e-4;
    }
    EXPECT_NEAR(log_improvement(z), std::log(sum), 1e-3) << z;
  }
}

TEST(LogImprovement, IsSmoothAndIncreasingFarFromTheOptimum) {
  for (double z = -60; z < 5; z += 0.25) {
    const double slope = (log_improvement(z + 1e-4) - log_improvement(z - 1e-4)) / 2e-4;
    EXPECT_GT(slope, 0) << z;
    EXPECT_NEAR(log_improvement_slope(z), slope, 1e-3 * slope + 1e-6) << z;
  }
}

struct Fixture {
  Fixture() : inputs{MatrixXd(9, 2), {false, false}}, values(9) {
    for (int i = 0; i < 9; ++i) {
      inputs.points.row(i) << (i % 3) / 2.0, (i / 3) / 2.0;
      values[i] = (inputs.points.row(i).array() - 0.3).square().sum() - 0.3;
    }
  }
  GpInputs inputs;
  VectorXd values;
};

TEST(Acquisition, GradientIsThatOfTheValue) {
  const Fixture data;
  const GaussianProcess process(data.inputs, data.values, fit_parameters(data.inputs, data.values));
  const Acquisition acquisition{&process, data.values.minCoeff(), {process}, {0.1}};
  const VectorXd point{{0.35, 0.6}};
  VectorXd gradient, ignored;
  const double value = acquisition.value_at(point, gradient);
  EXPECT_NEAR(acquisition.values(point.transpose())[0], value, 1e-9);
  for (int d = 0; d < 2; ++d) {
    VectorXd up = point, down = point;
    up[d] += 1e-5;
    down[d] -= 1e-5;
    const double slope =
        (acquisition.value_at(up, ignored) - acquisition.value_at(down, ignored)) / 2e-5;
    EXPECT_NEAR(gradient[d], slope, 1e-3 * std::abs(slope) + 1e-4) << d;
  }
}

TEST(Acquisition, MaximumIsNearTheMinimumOfTheObjective) {
  const Fixture data;
  const GaussianProcess process(data.inputs, data.values, fit_parameters(data.inputs, data.values));
  const Acquisition acquisition{&process, data.values.minCoeff()};
  Random random(1);
  const Space space = {parse_parameter("x=0.0..1.0"), parse_parameter("y=0.0..1.0:0.1")};
  const VectorXd point =
      maximize(acquisition, space, data.inputs.points.topRows(1), data.inputs.points, random);
  EXPECT_NEAR(point[0], 0.3, 0.15);
  EXPECT_NEAR(point[1], 0.3, 0.15);
  const Distribution& grid = space[1].distribution;
  EXPECT_NEAR(point[1], grid.position_of(grid.value_at(point[1])), 1e-9)
      << "is a value of the grid";
}

TEST(Acquisition, ConstraintMovesTheMaximum) {
  const Fixture data;
  const GaussianProcess objective(data.inputs, data.values,
                                  fit_parameters(data.inputs, data.values));
  const VectorXd first = (0.7 - data.inputs.points.col(0).array());  // at most 0 from x = 0.7 on
  const GaussianProcess constraint(data.inputs, first, fit_parameters(data.inputs, first));
  const Acquisition acquisition{&objective, data.values.minCoeff() + 0.5, {constraint}, {0}};
  Random random(1);
  const Space space = {parse_parameter("x=0.0..1.0"), parse_parameter("y=0.0..1.0")};
  EXPECT_GT(
      maximize(acquisition, space, data.inputs.points.topRows(1), data.inputs.points, random)[0],
      0.6);
}

}  // namespace
}  // namespace tutti::tune
