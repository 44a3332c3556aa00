#include "tutti/tune/search/gaussian_process.h"

#include <cmath>
#include <nlopt.hpp>

namespace tutti::tune {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kSmallestNoise = 1e-6;
constexpr double kJitter = 1e-10;
constexpr double kSmallestVariance = 1e-12;
constexpr int kFitEvaluations = 60;
// Log-normal prior of a length scale: median exp(kLogLength) * sqrt(dimensions), and standard deviation of its
// logarithm.
constexpr double kLogLength = -0.7, kLogLengthDeviation = 0.5;
constexpr double kNoiseShape = 1.1, kNoiseRate = 30;  // gamma priors
constexpr double kVarianceShape = 2, kVarianceRate = 1;
// Starts of the fit: short lengths explain the values by the function, long ones by noise.
struct Start {
  double log_length, noise;
};
constexpr Start kStarts[] = {{-1, 1e-3}, {0, 1e-2}, {-2, 1e-4}};
constexpr double kSqrt5 = 2.2360679774997896;

// Matern 5/2 correlation at squared distance r2, and its derivative by r2.
double correlation(double r2) {
  const double r = kSqrt5 * std::sqrt(r2);
  return (1 + r + 5.0 / 3 * r2) * std::exp(-r);
}
double correlation_slope(double r2) {
  const double r = kSqrt5 * std::sqrt(r2);
  return -5.0 / 6 * (1 + r) * std::exp(-r);
}

// Squared distances, scaled by the length scales, between the rows of `a` and the rows of `b`.
MatrixXd squared_distances(const MatrixXd& a, const MatrixXd& b, const std::vector<bool>& is_choice,
                           const ArrayXd& inverse_squared_lengths) {
  MatrixXd distances = MatrixXd::Zero(a.rows(), b.rows());
  for (Index d = 0; d < a.cols(); ++d) {
    const double scale = inverse_squared_lengths[d];
    for (Index j = 0; j < b.rows(); ++j) {
      if (is_choice[static_cast<std::size_t>(d)]) {
        distances.col(j).array() += scale * (a.col(d).array() != b(j, d)).cast<double>();
      } else {
        distances.col(j).array() += scale * (a.col(d).array() - b(j, d)).square();
      }
    }
  }
  return distances;
}

MatrixXd covariance(const GpInputs& inputs, const GpParameters& parameters) {
  MatrixXd result = squared_distances(inputs.points, inputs.points, inputs.is_choice,
                                      parameters.inverse_squared_lengths);
  result = parameters.variance * result.unaryExpr(&correlation);
  result.diagonal().array() += parameters.noise + kJitter;
  return result;
}

// Sum of weights(i, j) times the squared distance of i and j along one coordinate.
double weighted_distances(const MatrixXd& weights, const VectorXd& x, bool is_choice) {
  if (!is_choice) {
    return 2 * (weights.rowwise().sum().dot(x.array().square().matrix()) - x.dot(weights * x));
  }
  double sum = 0;
  for (Index j = 0; j < x.size(); ++j) {
    sum += weights.col(j).dot((x.array() != x[j]).cast<double>().matrix());
  }
  return sum;
}

// Parameters as logarithms: inverse squared lengths, variance, noise.
GpParameters parameters_from(const std::vector<double>& logs) {
  const auto dimensions = static_cast<Index>(logs.size()) - 2;
  GpParameters parameters;
  parameters.inverse_squared_lengths = Eigen::Map<const ArrayXd>(logs.data(), dimensions).exp();
  parameters.variance = std::exp(logs[logs.size() - 2]);
  parameters.noise = std::exp(logs.back());
  return parameters;
}

// The negative log posterior of the parameters and its gradient.
class Posterior {
 public:
  Posterior(const GpInputs& inputs, const VectorXd& values) : inputs_(inputs), values_(values) {}

  double operator()(const std::vector<double>& logs, std::vector<double>& gradient) const {
    const GpParameters parameters = parameters_from(logs);
    const MatrixXd distances = squared_distances(inputs_.points, inputs_.points, inputs_.is_choice,
                                                 parameters.inverse_squared_lengths);
    MatrixXd correlations = distances.unaryExpr(&correlation);
    MatrixXd matrix = parameters.variance * correlations;
    matrix.diagonal().array() += parameters.noise + kJitter;
    const Eigen::LLT<MatrixXd> factor(matrix);
    if (factor.info() != Eigen::Success) return 1e10;
    const VectorXd weights = factor.solve(values_);
    double result = 0.5 * values_.dot(weights) + factor.matrixLLT().diagonal().array().log().sum() +
                    prior(logs, gradient);
    if (gradient.empty()) return result;
    MatrixXd slope = factor.solve(MatrixXd::Identity(matrix.rows(), matrix.cols()));
    slope -= weights * weights.transpose();  // twice the derivative by the covariance
    const std::size_t last = logs.size() - 1;
    gradient[last] += 0.5 * slope.trace() * parameters.noise;
    gradient[last - 1] += 0.5 * parameters.variance * slope.cwiseProduct(correlations).sum();
    slope.array() *= parameters.variance * distances.unaryExpr(&correlation_slope).array();
    for (std::size_t d = 0; d + 2 < logs.size(); ++d) {
      const auto column = static_cast<Index>(d);
      gradient[d] += 0.5 * parameters.inverse_squared_lengths[column] *
                     weighted_distances(slope, inputs_.points.col(column), inputs_.is_choice[d]);
    }
    return result;
  }

 private:
  // Negative log prior; sets the gradient.
  static double prior(const std::vector<double>& logs, std::vector<double>& gradient) {
    const std::size_t dimensions = logs.size() - 2;
    const double median = kLogLength + 0.5 * std::log(static_cast<double>(dimensions));
    double result = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const double deviation = (-0.5 * logs[d] - median) / kLogLengthDeviation;
      result += 0.5 * deviation * deviation;
      if (!gradient.empty()) gradient[d] = -0.5 * deviation / kLogLengthDeviation;
    }
    const auto gamma = [&](std::size_t i, double shape, double rate) {
      const double value = std::exp(logs[i]);
      result -= (shape - 1) * logs[i] - rate * value;
      if (!gradient.empty()) gradient[i] = rate * value - (shape - 1);
    };
    gamma(dimensions, kVarianceShape, kVarianceRate);
    gamma(dimensions + 1, kNoiseShape, kNoiseRate);
    return result;
  }

  const GpInputs& inputs_;
  const VectorXd& values_;
};

// Moves `logs` to a local minimum by L-BFGS and returns the value there.
double minimize(Posterior& posterior, std::vector<double>& logs) {
  nlopt::opt optimizer(nlopt::LD_LBFGS, static_cast<unsigned>(logs.size()));
  std::vector<double> lower(logs.size(), -12), upper(logs.size(), 12);
  lower.back() = std::log(kSmallestNoise);
  upper.back() = 0;
  optimizer.set_lower_bounds(lower);
  optimizer.set_upper_bounds(upper);
  optimizer.set_maxeval(kFitEvaluations);
  optimizer.set_ftol_abs(1e-3);
  optimizer.set_min_objective(
      [](const std::vector<double>& at, std::vector<double>& gradient, void* data) {
        return (*static_cast<Posterior*>(data))(at, gradient);
      },
      &posterior);
  double value = 0;
  try {
    optimizer.optimize(logs, value);
  } catch (
      const std::runtime_error&) {  // rounding stopped the search: `logs` is the best point found
    std::vector<double> none;
    value = posterior(logs, none);
  }
  return value;
}

}  // namespace

GaussianProcess::GaussianProcess(GpInputs inputs, VectorXd values, GpParameters parameters)
    : inputs_(std::move(inputs)), values_(std::move(values)), parameters_(std::move(parameters)) {
  MatrixXd matrix = covariance(inputs_, parameters_);
  Eigen::LLT<MatrixXd> factor(matrix);
  for (double jitter = 1e-8; factor.info() != Eigen::Success; jitter *= 10) {
    matrix.diagonal().array() += jitter;  // observed points coincide
    factor.compute(matrix);
  }
  factor_ = factor.matrixL();
  weights_ = factor.solve(values_);
}

void GaussianProcess::predict(const MatrixXd& points, VectorXd& means, VectorXd& variances) const {
  MatrixXd cross = squared_distances(inputs_.points, points, inputs_.is_choice,
                                     parameters_.inverse_squared_lengths);
  cross = parameters_.variance * cross.unaryExpr(&correlation);
  means = cross.transpose() * weights_;
  factor_.triangularView<Eigen::Lower>().solveInPlace(cross);
  variances = (parameters_.variance - cross.colwise().squaredNorm().array())
                  .max(kSmallestVariance)
                  .matrix()
                  .transpose();
}

GpPrediction GaussianProcess::predict_with_gradient(const VectorXd& point) const {
  const MatrixXd distances = squared_distances(inputs_.points, point.transpose(), inputs_.is_choice,
                                               parameters_.inverse_squared_lengths);
  const VectorXd cross = parameters_.variance * distances.col(0).unaryExpr(&correlation);
  const VectorXd slopes = parameters_.variance * distances.col(0).unaryExpr(&correlation_slope);
  VectorXd solved = factor_.triangularView<Eigen::Lower>().solve(cross);
  GpPrediction prediction;
  prediction.mean = cross.dot(weights_);
  prediction.variance = std::max(parameters_.variance - solved.squaredNorm(), kSmallestVariance);
  factor_.triangularView<Eigen::Lower>().transpose().solveInPlace(solved);
  prediction.mean_gradient = prediction.variance_gradient = VectorXd::Zero(point.size());
  for (Index d = 0; d < point.size(); ++d) {
    if (inputs_.is_choice[static_cast<std::size_t>(d)]) continue;
    const VectorXd change =
        2 * parameters_.inverse_squared_lengths[d] *
        slopes.cwiseProduct((point[d] - inputs_.points.col(d).array()).matrix());
    prediction.mean_gradient[d] = change.dot(weights_);
    prediction.variance_gradient[d] = -2 * change.dot(solved);
  }
  return prediction;
}

GaussianProcess GaussianProcess::with_predicted(const MatrixXd& points) const {
  VectorXd means, variances;
  predict(points, means, variances);
  GpInputs inputs = inputs_;
  inputs.points.conservativeResize(inputs.count() + points.rows(), Eigen::NoChange);
  inputs.points.bottomRows(points.rows()) = points;
  VectorXd values(values_.size() + means.size());
  values << values_, means;
  return {std::move(inputs), std::move(values), parameters_};
}

GpParameters fit_parameters(const GpInputs& inputs, const VectorXd& values) {
  const auto dimensions = static_cast<std::size_t>(inputs.dimensions());
  const double median = kLogLength + 0.5 * std::log(static_cast<double>(dimensions));
  Posterior posterior(inputs, values);
  std::vector<double> best_logs;
  double best = 0;
  for (const Start& start : kStarts) {
    std::vector<double> logs(dimensions, -2 * (median + start.log_length));
    logs.push_back(0);
    logs.push_back(std::log(start.noise));
    const double found = minimize(posterior, logs);
    if (best_logs.empty() || found < best) {
      best = found;
      best_logs = logs;
    }
  }
  return parameters_from(best_logs);
}

}  // namespace tutti::tune
