#include "tutti/learn/glm/solvers/l1_newton_cg.h"

#include <cmath>

#include "tutti/learn/glm/problem/cg_state.h"
#include "tutti/learn/glm/problem/l1_bound.h"
#include "tutti/learn/glm/problem/stall_detector.h"
#include "tutti/learn/glm/solvers/l1_step.h"

namespace tutti::learn {
namespace {

constexpr int kMostL1Steps = 60;  // of one conjugate gradient
constexpr int kL1Stalls = 3;
constexpr std::int64_t kFewestEntering = 256;

template <class T>
class L1NewtonCg : CgState<T> {
 public:
  L1NewtonCg(Problem<T>& problem, Tracker& tracker)
      : CgState<T>(problem, tracker),
        has_intercept_(problem.options.fit_intercept),
        l1_(problem.options.l1),
        l2_(problem.options.l2),
        loss_gradient_(columns_),
        gradient_(columns_ + 1),
        step_(columns_ + 1, problem.options,
              {weights_, objective_, margins_, trial_, moves_, step_products_},
              {[this](const auto& vector, auto& margins) { multiply(vector, margins); },
               [this](const auto& search, auto& products, auto& curved) {
                 multiply_hessian(search, products, curved);
               },
               [this](const auto& margins) { return evaluate(margins); }}) {}

  Solution run();

 private:
  bool run_steps();
  void start();
  void multiply(const std::vector<T>& vector, std::vector<T>& margins);
  void multiply_hessian(const std::vector<T>& search, std::vector<T>& products,
                        std::vector<T>& curved);
  void find_gradient();
  void choose_free();

  using CgState<T>::problem_, CgState<T>::tracker_, CgState<T>::design_, CgState<T>::columns_;
  using CgState<T>::weights_, CgState<T>::objective_, CgState<T>::bound_, CgState<T>::gap_;
  using CgState<T>::margins_, CgState<T>::trial_, CgState<T>::moves_, CgState<T>::step_products_;
  using CgState<T>::first_, CgState<T>::second_, CgState<T>::evaluate, CgState<T>::sum_of;

  bool has_intercept_;
  double l1_, l2_;
  std::vector<double> loss_gradient_;  // of the loss alone
  std::vector<T> gradient_;
  L1Step<T> step_;
};

template <class T>
void L1NewtonCg<T>::multiply(const std::vector<T>& vector, std::vector<T>& margins) {
  design_.multiply(vector.data(), vector[columns_], margins.data());
  tracker_.add_passes(0.5);
}

template <class T>
void L1NewtonCg<T>::multiply_hessian(const std::vector<T>& search, std::vector<T>& products,
                                     std::vector<T>& curved) {
  const double sum = design_.curvature_multiply(search.data(), search[columns_], second_.data(),
                                                products.data(), curved.data());
  tracker_.add_passes(1);
  curved[columns_] = static_cast<T>(sum);
}

template <class T>
void L1NewtonCg<T>::start() {
  if (this->take_start()) multiply(std::vector<T>(weights_.begin(), weights_.end()), margins_);
  objective_ = evaluate(margins_) + step_.penalty(weights_);
}

template <class T>
void L1NewtonCg<T>::find_gradient() {
  if (has_intercept_) this->find_intercept(step_.penalty(weights_));
  design_.gradient_and_diagonal(first_.data(), second_.data(), gradient_.data(),
                                step_.diagonal.data());
  tracker_.add_passes(0.5);
  std::copy(gradient_.begin(), gradient_.end() - 1, loss_gradient_.begin());
  for (std::int64_t j = 0; j < columns_; ++j) gradient_[j] += static_cast<T>(l2_ * weights_[j]);
  gradient_[columns_] = has_intercept_ ? static_cast<T>(sum_of(first_)) : T{0};
  step_.diagonal[columns_] = has_intercept_ ? static_cast<T>(sum_of(second_)) : T{0};
  bound_ =
      std::max(bound_, l1_lower_bound(problem_, first_.data(), loss_gradient_.data(), columns_));
  gap_ = objective_ - bound_;
}

// Sides of the free weights, and the slope of the whole objective there.
template <class T>
void L1NewtonCg<T>::choose_free() {
  std::vector<double> promises;
  std::int64_t used = 0;
  const auto over = [&](std::int64_t j) {
    return std::max(0.0, std::abs(static_cast<double>(gradient_[j])) - l1_);
  };
  const auto promise = [&](std::int64_t j) { return over(j) * over(j) / step_.scale_of(j); };
  for (std::int64_t j = 0; j < columns_; ++j) {
    used += weights_[j] != 0 ? 1 : 0;
    if (weights_[j] == 0 && over(j) > 0) promises.push_back(promise(j));
  }
  const auto most = static_cast<std::size_t>(std::max(kFewestEntering, used));
  double least = 0;
  if (promises.size() > most) {
    const auto last = promises.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(promises.begin(), last, promises.end(), std::greater<>());
    least = *last;
  }
  for (std::int64_t j = 0; j < columns_; ++j) {
    const double slope = static_cast<double>(gradient_[j]);
    if (weights_[j] != 0)
      step_.side[j] = weights_[j] > 0 ? 1 : -1;
    else
      step_.side[j] = over(j) == 0 || promise(j) < least ? 0 : slope < 0 ? 1 : -1;
    step_.slopes[j] = step_.side[j] == 0 ? T{0} : static_cast<T>(slope + l1_ * step_.side[j]);
  }
  step_.slopes[columns_] = gradient_[columns_];
}

// Whether rounding decides now.
template <class T>
bool L1NewtonCg<T>::run_steps() {
  start();
  tracker_.set_scale(objective_);
  StallDetector<T> stalls(kL1Stalls);
  for (int iteration = 0; iteration < problem_.options.max_iterations; ++iteration) {
    find_gradient();
    if (!tracker_.report(objective_, gap_) || tracker_.is_enough(objective_, gap_)) break;
    choose_free();
    step_.find_direction(kMostL1Steps);
    const double before = objective_;
    const bool is_better = step_.search_line();
    stalls.note(before, objective_);
    if (!is_better || stalls.is_stalled()) return true;
  }
  return false;
}

template <class T>
Solution L1NewtonCg<T>::run() {
  bool is_stuck = false;
  tracker_.run([&] { is_stuck = run_steps(); });
  return tracker_.found(weights_, objective_, gap_, is_stuck);
}

}  // namespace

template <class T>
Solution solve_l1_newton_cg(Problem<T>& problem, Tracker& tracker) {
  return L1NewtonCg<T>(problem, tracker).run();
}

template Solution solve_l1_newton_cg(Problem<float>&, Tracker&);
template Solution solve_l1_newton_cg(Problem<double>&, Tracker&);

}  // namespace tutti::learn
