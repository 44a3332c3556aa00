#include "tutti/tune/search/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tutti/core/random.h"
#include "tutti/tune/search/power_transform.h"

namespace tutti::tune {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

GpInputs random_inputs(int count, int dimensions) {
  Random random(7);
  GpInputs inputs{MatrixXd(count, dimensions),
                  std::vector<bool>(static_cast<std::size_t>(dimensions), false)};
  for (double& x : inputs.points.reshaped()) x = random.uniform();
  return inputs;
}

VectorXd waves(const MatrixXd& points) {
  return (6 * points.col(0).array()).sin() + 0.3 * points.col(1).array();
}

TEST(GaussianProcess, InterpolatesASmoothFunction) {
  const GpInputs inputs = random_inputs(40, 3);
  const VectorXd values = waves(inputs.points);
  const GpParameters parameters = fit_parameters(inputs, values);
  const GaussianProcess process(inputs, values, parameters);
  const MatrixXd points = MatrixXd::Random(50, 3).cwiseAbs();
  VectorXd means, variances;
  process.predict(points, means, variances);
  EXPECT_LT((means - waves(points)).cwiseAbs().mean(), 0.1);
  process.predict(inputs.points, means, variances);
  EXPECT_LT((means - values).cwiseAbs().maxCoeff(), 0.05);
  EXPECT_LT(variances.maxCoeff(), 0.05);
  EXPECT_GT(parameters.inverse_squared_lengths[0], 5 * parameters.inverse_squared_lengths[2])
      << "the last coordinate has no effect";
}

TEST(GaussianProcess, GradientsAreThoseOfThePrediction) {
  GpInputs inputs = random_inputs(20, 3);
  const VectorXd values = waves(inputs.points);
  const GaussianProcess process(inputs, values, fit_parameters(inputs, values));
  const VectorXd point = VectorXd::Constant(3, 0.4);
  const GpPrediction at = process.predict_with_gradient(point);
  for (int d = 0; d < 3; ++d) {
    constexpr double kStep = 1e-5;
    VectorXd up = point, down = point;
    up[d] += kStep;
    down[d] -= kStep;
    const GpPrediction above = process.predict_with_gradient(up),
                       below = process.predict_with_gradient(down);
    EXPECT_NEAR(at.mean_gradient[d], (above.mean - below.mean) / (2 * kStep), 1e-4);
    EXPECT_NEAR(at.variance_gradient[d], (above.variance - below.variance) / (2 * kStep), 1e-4);
  }
}

TEST(GaussianProcess, ChoicesHaveNoOrder) {
  GpInputs inputs{MatrixXd(6, 1), {true}};
  inputs.points << 0, 1, 2, 0, 1, 2;
  VectorXd values(6);
  values << 1, -2, 1, 1, -2, 1;
  const GaussianProcess process(inputs, values, fit_parameters(inputs, values));
  VectorXd means, variances;
  process.predict(MatrixXd{{0.0}, {1.0}, {2.0}}, means, variances);
  EXPECT_NEAR(means[0], means[2], 1e-9);
  EXPECT_LT(means[1], means[0] - 1);
}

TEST(GaussianProcess, PredictedObservationsKeepTheMeanAndReduceTheVariance) {
  const GpInputs inputs = random_inputs(10, 2);
  const VectorXd values = waves(inputs.points);
  const GaussianProcess process(inputs, values, fit_parameters(inputs, values));
  const MatrixXd point{{0.9, 0.9}}, other{{0.1, 0.9}};
  VectorXd means, variances, new_means, new_variances;
  process.predict(point, means, variances);
  process.with_predicted(point).predict(point, new_means, new_variances);
  EXPECT_NEAR(new_means[0], means[0], 1e-6);
  EXPECT_LT(new_variances[0], variances[0]);
}

TEST(GaussianProcess, AcceptsPointsThatCoincide) {
  GpInputs inputs{MatrixXd::Constant(5, 2, 0.5), {false, false}};
  const VectorXd values = VectorXd::LinSpaced(5, -1, 1);
  const GaussianProcess process(inputs, values, fit_parameters(inputs, values));
  VectorXd means, variances;
  process.predict(inputs.points, means, variances);
  EXPECT_TRUE(means.allFinite());
}

TEST(PowerTransform, ReducesSkewnessAndKeepsTheOrder) {
  VectorXd values(200);
  Random random(5);
  for (double& value : values) value = std::exp(1.5 * random.gaussian());
  const VectorXd transformed = power_transformed(values);
  EXPECT_NEAR(transformed.mean(), 0, 1e-9);
  const double skewness = std::abs(transformed.array().cube().mean());
  EXPECT_LT(skewness, 0.6 * std::abs(standardized(values).array().cube().mean()));
  for (int i = 0; i < 200; ++i) {
    for (int j = 0; j < 200; ++j) {
      EXPECT_TRUE(values[i] >= values[j] || transformed[i] <= transformed[j]);
    }
  }
  EXPECT_TRUE(power_transformed(VectorXd::Constant(4, 7)).isZero());
}

}  // namespace
}  // namespace tutti::tune
