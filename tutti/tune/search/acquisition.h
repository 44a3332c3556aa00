// Log expected improvement, and the point that maximizes it.
#pragma once

#include <vector>

#include "tutti/core/random.h"
#include "tutti/tune/search/gaussian_process.h"
#include "tutti/tune/space.h"

namespace tutti::tune {

// log(z Phi(z) + phi(z)): the logarithm of the improvement expected from a standard normal variable that has to exceed
// -z. Accurate for all z, where the improvement itself would underflow.
double log_improvement(double z);
double log_improvement_slope(double z);  // derivative by z

// Expected improvement below `best` of the objective, times the probability that all constraints are at most their
// limits. Logarithms, so it has a slope everywhere.
struct Acquisition {
  const GaussianProcess* objective = nullptr;  // nullptr: only the constraints count
  double best = 0;
  std::vector<GaussianProcess> constraints = {};
  std::vector<double> limits = {};  // one per constraint

  Eigen::VectorXd values(const Eigen::MatrixXd& points) const;
  // `gradient` is set.
  double value_at(const Eigen::VectorXd& point, Eigen::VectorXd& gradient) const;
};

// The best point that was found: random points and points near `incumbents` (rows) are compared, and a local search
// starts from the best of them. Discrete coordinates are the middle of the interval of a value. None of the rows of
// `excluded`, unless there is no other point.
Eigen::VectorXd maximize(const Acquisition& acquisition, const Space& space,
                         const Eigen::MatrixXd& incumbents, const Eigen::MatrixXd& excluded,
                         Random& random);

}  // namespace tutti::tune
