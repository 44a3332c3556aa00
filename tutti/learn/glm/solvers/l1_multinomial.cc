#include "tutti/learn/glm/solvers/l1_multinomial.h"

#include <cmath>
#include <limits>

#include "tutti/learn/glm/linalg/cholesky.h"
#include "tutti/learn/glm/problem/stall_detector.h"
#include "tutti/learn/glm/solvers/l1_step.h"
#include "tutti/learn/glm/solvers/softmax_state.h"

namespace tutti::learn {
namespace {

constexpr int kMaxL1ClassSteps = 100;  // steps of one conjugate gradient solve
constexpr int kMaxInterceptSteps = 20;
constexpr int kL1ClassStalls = 3;

template <class T>
class L1Multinomial : SoftmaxState<T> {
 public:
  L1Multinomial(DesignMatrix<T>& design, std::span<const std::int32_t> classes, int count,
                std::span<const double> weights, const GlmOptions& options, Tracker& tracker)
      : SoftmaxState<T>(design, classes, count, weights, options, tracker),
        l1_(options.l1),
        l2_(options.l2),
        step_(width_, options, {weights_, objective_, margins_, trial_, moves_, products_},
              {[this](const auto& vector, auto& margins) { this->multiply(vector, margins); },
               [this](const auto& search, auto& products, auto& curved) {
                 this->multiply_hessian(search, products, curved);
               },
               [this](const auto& margins) { return evaluate(margins); }}) {}

  MultinomialModel run() {
    return this->found_by([this] { return run_steps(); });
  }

 private:
  bool run_steps();
  void centre();
  void find_intercepts();
  std::vector<double> intercept_step() const;
  void find_gap();
  double dual_value(double scale) const;
  void choose_free();
  void keep_one_back(std::int64_t column);
  std::int64_t size() const { return static_cast<std::int64_t>(weights_.size()); }

  using SoftmaxState<T>::design_, SoftmaxState<T>::options_, SoftmaxState<T>::tracker_;
  using SoftmaxState<T>::classes_, SoftmaxState<T>::weight_of;
  using SoftmaxState<T>::count_, SoftmaxState<T>::rows_, SoftmaxState<T>::columns_;
  using SoftmaxState<T>::width_, SoftmaxState<T>::weights_, SoftmaxState<T>::objective_;
  using SoftmaxState<T>::gap_, SoftmaxState<T>::margins_, SoftmaxState<T>::trial_;
  using SoftmaxState<T>::probabilities_, SoftmaxState<T>::moves_, SoftmaxState<T>::products_;
  using SoftmaxState<T>::gradient_, SoftmaxState<T>::evaluate;

  double l1_, l2_;
  double bound_ = -std::numeric_limits<double>::infinity();
  L1Step<T> step_;
};

// The margins of a row then differ from those of the weights by the same number in all classes, which does not change
// the probabilities.
template <class T>
void L1Multinomial<T>::centre() {
  const double before = step_.penalty(weights_);
  design_.threads().for_range(columns_, 4096, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> values(count_);
    for (std::int64_t j = begin; j < end; ++j) {
      bool has_weight = false;
      for (std::int64_t k = 0; k < count_; ++k) {
        values[k] = weights_[k * width_ + j];
        has_weight = has_weight || values[k] != 0;
      }
      if (!has_weight) continue;
      const double shift = least_shift(values, l1_, l2_);
      for (std::int64_t k = 0; k < count_; ++k) weights_[k * width_ + j] -= shift;
    }
  });
  objective_ += step_.penalty(weights_) - before;
}

// Newton step of the intercepts alone: their gradient, and the Hessian between classes.
template <class T>
std::vector<double> L1Multinomial<T>::intercept_step() const {
  const std::int64_t square = count_ * count_;
  std::vector<double> sums =
      this->sum_vectors(square + count_, [&](std::int64_t begin, std::int64_t end, double* own) {
        for (std::int64_t r = begin; r < end; ++r)
          for (std::int64_t k = 0; k < count_; ++k) {
            const double step_size = static_cast<double>(probabilities_[k * rows_ + r]),
                         w = weight_of(r);
            own[k * count_ + k] += w * step_size;
            for (std::int64_t l = 0; l <= k; ++l)
              own[k * count_ + l] -=
                  w * step_size * static_cast<double>(probabilities_[l * rows_ + r]);
            own[square + k] += w * (step_size - (classes_[r] == k));
          }
      });
  std::vector<double> step(sums.begin() + square, sums.end());
  sums.resize(square);
  std::vector<double> gradient = step;
  Cholesky(std::move(sums), count_, design_.threads()).solve(step.data());
  double gain = 0;
  for (std::int64_t k = 0; k < count_; ++k) gain += step[k] * gradient[k];
  step.push_back(gain);  // last element: twice the predicted gain
  return step;
}

// Minimises over the intercepts with the other weights fixed; needs no pass. Afterwards the derivatives of the rows sum
// to 0 in every class, as a dual point requires.
template <class T>
void L1Multinomial<T>::find_intercepts() {
  if (!options_.fit_intercept) return;
  const double fixed = step_.penalty(weights_);
  for (int attempt = 0; attempt < kMaxInterceptSteps; ++attempt) {
    const std::vector<double> step = intercept_step();
    if (!(step[count_] > 1e-16 * std::abs(objective_))) return;
    design_.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = 0; k < count_; ++k)
        for (std::int64_t r = k * rows_ + begin; r < k * rows_ + end; ++r)
          trial_[r] = margins_[r] - static_cast<T>(step[k]);
    });
    const double value = evaluate(trial_) + fixed;
    if (!(value < objective_)) {
      evaluate(margins_);
      return;
    }
    margins_.swap(trial_);
    for (std::int64_t k = 0; k < count_; ++k) weights_[k * width_ + columns_] -= step[k];
    objective_ = value;
  }
}

// Dual value of the derivatives of the rows times `scale`. The conjugate of the loss of a row is the negative entropy
// of its probabilities after they are moved towards its class by 1 - scale.
template <class T>
double L1Multinomial<T>::dual_value(double scale) const {
  double value = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t r = begin; r < end; ++r)
      for (std::int64_t k = 0; k < count_; ++k) {
        const double step_size = scale * static_cast<double>(probabilities_[k * rows_ + r]) +
                                 (classes_[r] == k ? 1 - scale : 0);
        if (step_size > 0) sum -= weight_of(r) * step_size * std::log(step_size);
      }
    return sum;
  });
  if (!(l2_ > 0)) return value;
  for (std::int64_t i = 0; i < size(); ++i) {
    if (this->is_intercept(i)) continue;
    const double over = std::max(0.0, scale * std::abs(static_cast<double>(gradient_[i])) - l1_);
    value -= over * over / (2 * l2_);
  }
  return value;
}

// gradient_ must be the gradient of the loss alone.
template <class T>
void L1Multinomial<T>::find_gap() {
  double largest = 0;
  for (std::int64_t i = 0; i < size(); ++i)
    if (!this->is_intercept(i))
      largest = std::max(largest, std::abs(static_cast<double>(gradient_[i])));
  const double scale = largest <= l1_ ? 1 : l1_ / largest;
  bound_ = std::max(bound_, dual_value(scale));
  if (l2_ > 0 && scale < 1) bound_ = std::max(bound_, dual_value(1));
  gap_ = std::max(0.0, objective_ - bound_);
}

// If all classes of a column are free and more of them increase than decrease, the quadratic model is unbounded along
// their sum. The one that is nearest to 0 is fixed; columns are centred, so its weight is 0.
template <class T>
void L1Multinomial<T>::keep_one_back(std::int64_t column) {
  std::int64_t sides = 0, last = column;
  for (std::int64_t k = 0; k < count_; ++k) {
    const std::int64_t i = k * width_ + column;
    if (step_.side[i] == 0) return;
    sides += step_.side[i];
    const double here = std::abs(weights_[i]), there = std::abs(weights_[last]);
    const auto derivative = [&](std::int64_t at) {
      return std::abs(static_cast<double>(step_.pseudo_gradient[at]));
    };
    if (here < there || (here == there && derivative(i) < derivative(last))) last = i;
  }
  if (sides == 0 || weights_[last] != 0) return;
  step_.side[last] = 0;
  step_.pseudo_gradient[last] = 0;
}

// Sets the signs of the free weights and the pseudo-gradient.
template <class T>
void L1Multinomial<T>::choose_free() {
  for (std::int64_t i = 0; i < size(); ++i) {
    double derivative = static_cast<double>(gradient_[i]);
    if (!this->is_intercept(i)) {
      derivative += l2_ * weights_[i];
      const bool is_above = std::abs(derivative) > l1_;
      step_.side[i] = weights_[i] > 0   ? 1
                      : weights_[i] < 0 ? -1
                      : !is_above       ? 0
                      : derivative < 0  ? 1
                                        : -1;
      derivative = step_.side[i] == 0 ? 0 : derivative + l1_ * step_.side[i];
    }
    step_.pseudo_gradient[i] = static_cast<T>(derivative);
  }
  if (l2_ > 0) return;
  for (std::int64_t j = 0; j < columns_; ++j) keep_one_back(j);
}

// Returns whether the fit has converged.
template <class T>
bool L1Multinomial<T>::run_steps() {
  this->take_start();
  objective_ = evaluate(margins_) + step_.penalty(weights_);
  tracker_.set_scale(objective_);
  StallDetector<T> stalls(kL1ClassStalls);
  for (int iteration = 0; iteration < options_.max_iterations; ++iteration) {
    centre();
    find_intercepts();
    this->compute_gradient(&step_.diagonal);
    find_gap();
    if (!tracker_.report(objective_, gap_)) return false;
    if (tracker_.is_within_tolerance(objective_, gap_))
      return tracker_.is_certain(objective_, gap_);
    const double before = objective_;
    choose_free();
    step_.find_direction(kMaxL1ClassSteps);
    bool is_better = step_.search_line();
    if (!is_better) {
      step_.take_steepest_descent();
      is_better = step_.search_line();
    }
    stalls.note(before, objective_);
    if (!is_better || stalls.is_stalled()) return tracker_.is_at_precision_limit(objective_, gap_);
  }
  return false;
}

}  // namespace

double least_shift(std::span<double> values, double l1, double l2) {
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size();
  if (!(l2 > 0)) return std::clamp(0.0, values[(count - 1) / 2], values[count / 2]);
  double sum = 0;
  for (const double value : values) sum += value;
  for (std::size_t i = 0; i < count; ++i) {
    // Derivative with respect to c: l2 * (count * c - sum) from the squares, and l1 times (values below c minus values
    // above).
    const double balance = 2 * static_cast<double>(i) - static_cast<double>(count);
    const double below = l2 * (static_cast<double>(count) * values[i] - sum) + l1 * balance;
    if (below > 0) return (sum - l1 / l2 * balance) / static_cast<double>(count);
    if (below + 2 * l1 >= 0) return values[i];
  }
  return values.back();
}

template <class T>
MultinomialModel solve_l1_multinomial(DesignMatrix<T>& design,
                                      std::span<const std::int32_t> classes, int count,
                                      std::span<const double> weights, const GlmOptions& options,
                                      Tracker& tracker) {
  return L1Multinomial<T>(design, classes, count, weights, options, tracker).run();
}

template MultinomialModel solve_l1_multinomial(DesignMatrix<float>&, std::span<const std::int32_t>,
                                               int, std::span<const double>, const GlmOptions&,
                                               Tracker&);
template MultinomialModel solve_l1_multinomial(DesignMatrix<double>&, std::span<const std::int32_t>,
                                               int, std::span<const double>, const GlmOptions&,
                                               Tracker&);

}  // namespace tutti::learn
