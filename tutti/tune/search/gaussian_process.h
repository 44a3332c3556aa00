// Gaussian process regression on the unit cube.
//
// The prior of the function is a Matern 5/2 kernel with one length scale per coordinate. Coordinates of choices are
// indices and count as far apart as the ends of an interval if they differ. Length scales, variance and noise maximize
// the posterior density of the observations; their priors prefer functions that vary slowly along most coordinates.
#pragma once

#include <Eigen/Dense>
#include <vector>

namespace tutti::tune {

struct GpParameters {
  Eigen::ArrayXd inverse_squared_lengths;
  double variance = 1;
  double noise = 1e-4;  // variance of the noise
};

// Observed points as rows, and which coordinates are indices of choices.
struct GpInputs {
  Eigen::MatrixXd points;
  std::vector<bool> is_choice;

  Eigen::Index count() const { return points.rows(); }
  Eigen::Index dimensions() const { return points.cols(); }
};

// Prediction at one point; gradients are zero for choices.
struct GpPrediction {
  double mean = 0, variance = 0;
  Eigen::VectorXd mean_gradient, variance_gradient;
};

class GaussianProcess {
 public:
  // `values` has one entry per point, with mean 0 and variance 1 for the priors to make sense.
  GaussianProcess(GpInputs inputs, Eigen::VectorXd values, GpParameters parameters);

  // Means and variances of the function, without noise, at the rows of `points`.
  void predict(const Eigen::MatrixXd& points, Eigen::VectorXd& means,
               Eigen::VectorXd& variances) const;
  GpPrediction predict_with_gradient(const Eigen::VectorXd& point) const;
  // The process after observing, at each row of `points`, the mean that it predicts there.
  GaussianProcess with_predicted(const Eigen::MatrixXd& points) const;

  const GpInputs& inputs() const { return inputs_; }

 private:
  GpInputs inputs_;
  Eigen::VectorXd values_;
  GpParameters parameters_;
  Eigen::MatrixXd factor_;   // lower Cholesky factor of the covariance of the observations
  Eigen::VectorXd weights_;  // inverse of that covariance times the values
};

// The parameters with the largest posterior density, by L-BFGS from a fixed start. Deterministic.
GpParameters fit_parameters(const GpInputs& inputs, const Eigen::VectorXd& values);

}  // namespace tutti::tune
