#include "tutti/learn/glm/solvers/l1_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tutti/learn/base/vector_kernels.h"

namespace tutti::learn {
namespace {

constexpr double kL1Forcing = 0.1;
constexpr int kL1Halvings = 30;
constexpr double kL1Descent = 1e-4;  // fraction of the predicted decrease (Armijo condition)

}  // namespace

template <class T>
L1Step<T>::L1Step(std::int64_t width, const GlmOptions& options, Iterate iterate, Rows rows)
    : diagonal(iterate.weights.size()),
      pseudo_gradient(iterate.weights.size()),
      side(iterate.weights.size()),
      width_(width),
      has_intercept_(options.fit_intercept),
      l1_(options.l1),
      l2_(options.l2),
      iterate_(iterate),
      rows_(std::move(rows)),
      next_(iterate.weights.size()) {
  for (auto* vector : {&direction_, &residual_, &search_, &curved_, &solved_})
    vector->resize(iterate.weights.size());
}

template <class T>
double L1Step<T>::penalty(const std::vector<double>& weights) const {
  double sum = 0;
  for_weights([&](std::int64_t i, bool is_intercept) {
    if (!is_intercept) sum += l1_ * std::abs(weights[i]) + l2_ / 2 * weights[i] * weights[i];
  });
  return sum;
}

// solved = residual / diagonal on the free weights; returns residual . solved.
template <class T>
double L1Step<T>::precondition() {
  double product = 0;
  for_weights([&](std::int64_t i, bool is_intercept) {
    const double residual = static_cast<double>(residual_[i]);
    const double scale = scale_of(i, is_intercept ? 0 : l2_);
    solved_[i] = is_free(i, is_intercept) ? static_cast<T>(residual / scale) : T{0};
    product += static_cast<double>(solved_[i]) * residual;
  });
  return product;
}

// curved = Hessian * search on the free weights; returns search . curved.
template <class T>
double L1Step<T>::multiply_hessian() {
  rows_.curve(search_, iterate_.products, curved_);
  double curvature = 0;
  for_weights([&](std::int64_t i, bool is_intercept) {
    const T ridge = static_cast<T>(is_intercept ? 0 : l2_);
    curved_[i] = is_free(i, is_intercept) ? curved_[i] + ridge * search_[i] : T{0};
    curvature += static_cast<double>(curved_[i]) * static_cast<double>(search_[i]);
  });
  return curvature;
}

template <class T>
void L1Step<T>::find_direction(int most_products) {
  std::fill(direction_.begin(), direction_.end(), T{0});
  std::fill(iterate_.moves.begin(), iterate_.moves.end(), T{0});
  for (std::int64_t i = 0; i < size(); ++i) residual_[i] = -pseudo_gradient[i];
  double length = precondition();
  search_ = solved_;
  const double end = kL1Forcing * kL1Forcing * length;
  for (int step = 0; step < most_products && length > end; ++step) {
    const double curvature = multiply_hessian();
    if (!(curvature > 0)) break;
    const T step_size = static_cast<T>(length / curvature);
    add_scaled(step_size, iterate_.products.data(), std::ssize(iterate_.products),
               iterate_.moves.data());
    add_scaled(step_size, search_.data(), size(), direction_.data());
    add_scaled(-step_size, curved_.data(), size(), residual_.data());
    const double before = length;
    length = precondition();
    const T keep = static_cast<T>(length / before);
    for (std::int64_t i = 0; i < size(); ++i) search_[i] = solved_[i] + keep * search_[i];
  }
}

template <class T>
void L1Step<T>::take_steepest_descent() {
  for (std::int64_t i = 0; i < size(); ++i) residual_[i] = -pseudo_gradient[i];
  precondition();
  direction_ = solved_;
  rows_.multiply(direction_, iterate_.moves);
}

// Computes the weights after the fraction `step_size` of the step, and the predicted change of the objective. Returns
// whether a weight was stopped at 0.
template <class T>
bool L1Step<T>::take_trial(double step_size, double& predicted_change) {
  bool has_stopped = false;
  predicted_change = 0;
  for_weights([&](std::int64_t i, bool is_intercept) {
    next_[i] = iterate_.weights[i] + step_size * static_cast<double>(direction_[i]);
    if (!is_intercept && next_[i] * side[i] < 0) {
      next_[i] = 0;
      has_stopped = true;
    }
    predicted_change += static_cast<double>(pseudo_gradient[i]) * (next_[i] - iterate_.weights[i]);
  });
  return has_stopped;
}

// If no weight was stopped at 0, a trial needs no pass over the data.
template <class T>
bool L1Step<T>::search_line(double shrink) {
  double step_size = 1, predicted_change = 0;
  for (int attempt = 0; attempt < kL1Halvings; ++attempt, step_size *= shrink) {
    if (take_trial(step_size, predicted_change)) {
      std::copy(next_.begin(), next_.end(), search_.begin());
      rows_.multiply(search_, iterate_.trial);
    } else {
      for (std::size_t r = 0; r < iterate_.trial.size(); ++r)
        iterate_.trial[r] = iterate_.margins[r] + static_cast<T>(step_size) * iterate_.moves[r];
    }
    const double value = rows_.evaluate(iterate_.trial) + penalty(next_);
    if (!(value < iterate_.objective) || value > iterate_.objective + kL1Descent * predicted_change)
      continue;
    iterate_.margins.swap(iterate_.trial);
    iterate_.weights.swap(next_);
    iterate_.objective = value;
    return true;
  }
  rows_.evaluate(iterate_.margins);
  return false;
}

template class L1Step<float>;
template class L1Step<double>;

}  // namespace tutti::learn
