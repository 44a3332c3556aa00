// Power transform of losses.
#pragma once

#include <Eigen/Dense>

namespace tutti::tune {

// The values after the Yeo-Johnson transform, with the power from 0 (logarithm) to 2 of largest likelihood,
// standardized to mean 0 and variance 1. The transform is increasing, so the order of the values is kept. Values that
// are not finite must not occur.
Eigen::VectorXd power_transformed(const Eigen::VectorXd& values);

// The values with mean 0 and variance 1; zeros if all are equal.
Eigen::VectorXd standardized(const Eigen::VectorXd& values);

}  // namespace tutti::tune
