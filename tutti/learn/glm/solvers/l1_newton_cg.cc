#include "tutti/learn/glm/solvers/l1_newton_cg.h"

#include <cmath>

#include "tutti/learn/glm/problem/cg_state.h"
#include "tutti/learn/glm/problem/l1_bound.h"
#include "tutti/learn/glm/problem/stall_detector.h"
#include "tutti/learn/glm/solvers/l1_step.h"

namespace tutti::learn {
namespace {

constexpr int kMaxL1Steps = 60;  // steps of one conjugate gradient solve
constexpr int kL1Stalls = 3;
constexpr std::int64_t kMinEntering = 256;

template <class T>
class L1NewtonCg {
 public:
  L1NewtonCg(Problem<T>& problem, Tracker& tracker)
      : state_(problem, tracker),
        has_intercept_(problem.options.fit_intercept),
        l1_(problem.options.l1),
        l2_(problem.options.l2),
        loss_gradient_(state_.columns),
        gradient_(state_.columns + 1),
        step_(state_.columns + 1, problem.options,
              {state_.weights, state_.objective, state_.margins, state_.trial, state_.moves,
               state_.step_products},
              {[this](const auto& vector, auto& margins) { multiply(vector, margins); },
               [this](const auto& search, auto& products, auto& curved) {
                 multiply_hessian(search, products, curved);
               },
               [this](const auto& margins) { return state_.evaluate(margins); }}) {}

  Solution run();

 private:
  bool run_steps();
  void start();
  void multiply(const std::vector<T>& vector, std::vector<T>& margins);
  void multiply_hessian(const std::vector<T>& search, std::vector<T>& products,
                        std::vector<T>& curved);
  void find_gradient();
  void choose_free();

  CgState<T> state_;
  bool has_intercept_;
  double l1_, l2_;
  std::vector<double> loss_gradient_;  // of the loss alone
  std::vector<T> gradient_;
  L1Step<T> step_;
};

template <class T>
void L1NewtonCg<T>::multiply(const std::vector<T>& vector, std::vector<T>& margins) {
  state_.design.multiply(vector.data(), vector[state_.columns], margins.data());
  state_.tracker.add_passes(0.5);
}

template <class T>
void L1NewtonCg<T>::multiply_hessian(const std::vector<T>& search, std::vector<T>& products,
                                     std::vector<T>& curved) {
  const double sum = state_.design.curvature_multiply(
      search.data(), search[state_.columns], state_.second.data(), products.data(), curved.data());
  state_.tracker.add_passes(1);
  curved[state_.columns] = static_cast<T>(sum);
}

template <class T>
void L1NewtonCg<T>::start() {
  if (state_.take_start())
    multiply(std::vector<T>(state_.weights.begin(), state_.weights.end()), state_.margins);
  state_.objective = state_.evaluate(state_.margins) + step_.penalty(state_.weights);
}

template <class T>
void L1NewtonCg<T>::find_gradient() {
  if (has_intercept_) state_.find_intercept(step_.penalty(state_.weights));
  state_.design.gradient_and_diagonal(state_.first.data(), state_.second.data(), gradient_.data(),
                                      step_.diagonal.data());
  state_.tracker.add_passes(0.5);
  std::copy(gradient_.begin(), gradient_.end() - 1, loss_gradient_.begin());
  for (std::int64_t j = 0; j < state_.columns; ++j)
    gradient_[j] += static_cast<T>(l2_ * state_.weights[j]);
  gradient_[state_.columns] = has_intercept_ ? static_cast<T>(state_.sum_of(state_.first)) : T{0};
  step_.diagonal[state_.columns] =
      has_intercept_ ? static_cast<T>(state_.sum_of(state_.second)) : T{0};
  state_.bound = std::max(state_.bound, l1_lower_bound(state_.problem, state_.first.data(),
                                                       loss_gradient_.data(), state_.columns));
  state_.gap = state_.objective - state_.bound;
}

// Sets the signs of the free weights and the pseudo-gradient.
template <class T>
void L1NewtonCg<T>::choose_free() {
  std::vector<double> promises;
  std::int64_t used = 0;
  const auto over = [&](std::int64_t j) {
    return std::max(0.0, std::abs(static_cast<double>(gradient_[j])) - l1_);
  };
  const auto promise = [&](std::int64_t j) { return over(j) * over(j) / step_.scale_of(j); };
  for (std::int64_t j = 0; j < state_.columns; ++j) {
    used += state_.weights[j] != 0 ? 1 : 0;
    if (state_.weights[j] == 0 && over(j) > 0) promises.push_back(promise(j));
  }
  const auto most = static_cast<std::size_t>(std::max(kMinEntering, used));
  double least = 0;
  if (promises.size() > most) {
    const auto last = promises.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(promises.begin(), last, promises.end(), std::greater<>());
    least = *last;
  }
  for (std::int64_t j = 0; j < state_.columns; ++j) {
    const double derivative = static_cast<double>(gradient_[j]);
    if (state_.weights[j] != 0)
      step_.side[j] = state_.weights[j] > 0 ? 1 : -1;
    else
      step_.side[j] = over(j) == 0 || promise(j) < least ? 0 : derivative < 0 ? 1 : -1;
    step_.pseudo_gradient[j] =
        step_.side[j] == 0 ? T{0} : static_cast<T>(derivative + l1_ * step_.side[j]);
  }
  step_.pseudo_gradient[state_.columns] = gradient_[state_.columns];
}

// Returns whether progress is limited by floating-point precision.
template <class T>
bool L1NewtonCg<T>::run_steps() {
  start();
  state_.tracker.set_scale(state_.objective);
  StallDetector<T> stalls(kL1Stalls);
  for (int iteration = 0; iteration < state_.problem.options.max_iterations; ++iteration) {
    find_gradient();
    if (!state_.tracker.report(state_.objective, state_.gap) ||
        state_.tracker.is_within_tolerance(state_.objective, state_.gap))
      break;
    choose_free();
    step_.find_direction(kMaxL1Steps);
    const double before = state_.objective;
    bool is_better = step_.search_line();
    if (!is_better) {
      // Weights that stop at 0 bend the direction; the scaled gradient remains a descent direction. Where nearly all
      // rows of a column are saturated, it is too long by many orders of magnitude.
      step_.take_steepest_descent();
      is_better = step_.search_line(1.0 / 16);
    }
    stalls.note(before, state_.objective);
    if (!is_better || stalls.is_stalled()) return true;
  }
  return false;
}

template <class T>
Solution L1NewtonCg<T>::run() {
  bool is_stuck = false;
  state_.tracker.run([&] { is_stuck = run_steps(); });
  return state_.tracker.found(state_.weights, state_.objective, state_.gap, is_stuck);
}

}  // namespace

template <class T>
Solution solve_l1_newton_cg(Problem<T>& problem, Tracker& tracker) {
  return L1NewtonCg<T>(problem, tracker).run();
}

template Solution solve_l1_newton_cg(Problem<float>&, Tracker&);
template Solution solve_l1_newton_cg(Problem<double>&, Tracker&);

}  // namespace tutti::learn
