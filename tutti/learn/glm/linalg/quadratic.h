// Minimisation of small quadratic functions with an l1 penalty.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::learn {

// Minimises gradient . d + d' hessian d / 2 + l1 * sum over j < penalised of |weights[j] + d[j]| by coordinate descent,
// to the limit of floating-point precision. `hessian` is size x size. Returns d.
std::vector<double> minimise_quadratic(const std::vector<double>& gradient,
                                       const std::vector<double>& hessian,
                                       const std::vector<double>& weights, double l1,
                                       std::int64_t penalised);

// The x that minimises (x - centre)^2 / 2 + threshold * |x|.
inline double soft_threshold(double centre, double threshold) {
  return centre > threshold ? centre - threshold : centre < -threshold ? centre + threshold : 0;
}

}  // namespace tutti::learn
