// Coordinate descent, with steps of all non-zero weights at once where it is slow: if columns are strongly correlated
// or dependent and the penalty is weak, its moves along the flat directions are tiny.
//
// Such a step takes the signs as fixed, so the function is quadratic in the non-zero weights and its minimum follows
// from a Cholesky factorisation. A ridge of 1e-9 of the diagonal makes dependent columns independent: along a direction
// without curvature the step is very long. The step ends at the minimum along its direction or where the first weight
// is 0; that weight leaves the set, and the next step follows. Sweeps add weights that should not be 0.

#include "tutti/learn/glm/linalg/quadratic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tutti/learn/base/threads.h"
#include "tutti/learn/glm/linalg/cholesky.h"

namespace tutti::learn {
namespace {

constexpr int kMaxSweeps = 2000;
constexpr int kSweepsBetweenSteps = 20;
constexpr double kRidge = 1e-9;

class L1Quadratic {
 public:
  L1Quadratic(const std::vector<double>& gradient, const std::vector<double>& hessian,
              const std::vector<double>& weights, double l1, std::int64_t penalised)
      : hessian_(hessian),
        weights_(weights),
        l1_(l1),
        size_(static_cast<std::int64_t>(gradient.size())),
        penalised_(penalised),
        steps_(gradient.size()),
        gradient_(gradient) {}

  std::vector<double> minimise() {
    double first_sweep = 0;
    for (int i = 0; i < kMaxSweeps; ++i) {
      const double largest = sweep();
      if (i == 0) first_sweep = largest;
      if (largest <= 1e-24 * first_sweep || largest == 0) break;
      if ((i + 1) % kSweepsBetweenSteps != 0) continue;
      for (std::int64_t k = 0; k <= size_ && step_with_fixed_signs(); ++k) continue;
    }
    return steps_;
  }

 private:
  double weight(std::int64_t j) const { return weights_[j] + steps_[j]; }

  void move(std::int64_t j, double by) {
    steps_[j] += by;
    const double* row = hessian_.data() + j * size_;
    for (std::int64_t k = 0; k < size_; ++k) gradient_[k] += by * row[k];
  }

  // Minimises over one weight after the other. Returns the largest decrease, times 2.
  double sweep() {
    double largest = 0;
    for (std::int64_t j = 0; j < size_; ++j) {
      const double curvature = hessian_[j * size_ + j];
      if (!(curvature > 0)) continue;
      const double now = weight(j), centre = now - gradient_[j] / curvature;
      const double by = (j < penalised_ ? soft_threshold(centre, l1_ / curvature) : centre) - now;
      if (by == 0) continue;
      move(j, by);
      largest = std::max(largest, by * by * curvature);
    }
    return largest;
  }

  // Returns whether a weight has become 0.
  bool step_with_fixed_signs() {
    std::vector<std::int64_t> set;
    for (std::int64_t j = 0; j < size_; ++j)
      if (hessian_[j * size_ + j] > 0 && (j >= penalised_ || weight(j) != 0)) set.push_back(j);
    const auto count = static_cast<std::int64_t>(set.size());
    std::vector<double> matrix(set.size() * set.size()), downhill(set.size());
    for (std::int64_t a = 0; a < count; ++a) {
      for (std::int64_t b = 0; b <= a; ++b)
        matrix[a * count + b] = hessian_[set[a] * size_ + set[b]];
      matrix[a * count + a] *= 1 + kRidge;
      const double sign = set[a] >= penalised_ ? 0 : std::copysign(1.0, weight(set[a]));
      downhill[a] = -(gradient_[set[a]] + l1_ * sign);
    }
    std::vector<double> direction = downhill;
    Threads alone(1);
    Cholesky(std::move(matrix), count, alone).solve(direction.data());
    return follow(set, direction, downhill);
  }

  bool follow(const std::vector<std::int64_t>& set, const std::vector<double>& direction,
              const std::vector<double>& downhill) {
    double slope = 0, curvature = 0;
    for (std::size_t a = 0; a < set.size(); ++a) {
      double product = 0;
      for (std::size_t b = 0; b < set.size(); ++b)
        product += hessian_[set[a] * size_ + set[b]] * direction[b];
      curvature += direction[a] * product;
      slope += downhill[a] * direction[a];
    }
    if (!(slope > 0)) return false;
    double length = curvature > 0 ? slope / curvature : std::numeric_limits<double>::infinity();
    std::size_t ending = set.size();
    for (std::size_t a = 0; a < set.size(); ++a) {
      if (set[a] >= penalised_ || direction[a] * weight(set[a]) >= 0) continue;
      const double until_zero = -weight(set[a]) / direction[a];
      if (until_zero >= length) continue;
      length = until_zero;
      ending = a;
    }
    if (!std::isfinite(length)) return false;
    for (std::size_t a = 0; a < set.size(); ++a)
      move(set[a], a == ending ? -weight(set[a]) : length * direction[a]);
    if (ending == set.size()) return false;
    steps_[set[ending]] = -weights_[set[ending]];  // exactly 0
    return true;
  }

  const std::vector<double>& hessian_;
  const std::vector<double>& weights_;
  double l1_;
  std::int64_t size_, penalised_;
  std::vector<double> steps_, gradient_;  // the gradient of the quadratic at weights + steps
};

}  // namespace

std::vector<double> minimise_quadratic(const std::vector<double>& gradient,
                                       const std::vector<double>& hessian,
                                       const std::vector<double>& weights, double l1,
                                       std::int64_t penalised) {
  return L1Quadratic(gradient, hessian, weights, l1, penalised).minimise();
}

}  // namespace tutti::learn
