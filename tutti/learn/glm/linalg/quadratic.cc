#include "tutti/learn/glm/linalg/quadratic.h"

#include <algorithm>

namespace tutti::learn {

std::vector<double> minimise_quadratic(const std::vector<double>& gradient,
                                       const std::vector<double>& hessian,
                                       const std::vector<double>& weights, double l1,
                                       std::int64_t penalised) {
  const std::int64_t size = static_cast<std::int64_t>(gradient.size());
  // Gradient of the quadratic at weights + steps.
  std::vector<double> steps(size), model_gradient = gradient;
  double first_sweep = 0;
  for (int sweep = 0; sweep < 2000; ++sweep) {
    double largest = 0;
    for (std::int64_t j = 0; j < size; ++j) {
      const double* row = hessian.data() + j * size;
      const double curvature = row[j];
      if (!(curvature > 0)) continue;
      const double now = weights[j] + steps[j], centre = now - model_gradient[j] / curvature;
      const double next = j < penalised ? soft_threshold(centre, l1 / curvature) : centre;
      const double move = next - now;
      if (move == 0) continue;
      steps[j] += move;
      for (std::int64_t k = 0; k < size; ++k) model_gradient[k] += move * row[k];
      largest = std::max(largest, move * move * curvature);
    }
    if (sweep == 0) first_sweep = largest;
    if (largest <= 1e-24 * first_sweep || largest == 0) break;
  }
  return steps;
}

}  // namespace tutti::learn
