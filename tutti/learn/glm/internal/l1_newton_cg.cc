#include "tutti/learn/glm/internal/l1_newton_cg.h"

#include <cmath>

#include "tutti/learn/glm/internal/cg_state.h"
#include "tutti/learn/glm/internal/l1_bound.h"
#include "tutti/learn/glm/internal/stalls.h"

namespace tutti::learn {
namespace {

constexpr int kMostL1Steps = 60;  // of one conjugate gradient
constexpr double kL1Forcing = 0.1;
constexpr int kHalvings = 30;
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
        next_(columns_ + 1),
        slopes_(columns_),
        side_(columns_) {
    for (auto* vector :
         {&gradient_, &diagonal_, &pseudo_, &direction_, &residual_, &search_, &curved_})
      vector->resize(columns_ + 1);
  }

  Solution run();

 private:
  bool run_steps();
  void start();
  double penalty(const std::vector<double>& weights) const;
  void find_gradient();
  void choose_free();
  void find_direction();
  double precondition();
  bool search_line();
  double scale_of(std::int64_t j) const {  // of a free weight: its part of the Hessian's diagonal
    return std::max(static_cast<double>(diagonal_[j]) + (j < columns_ ? l2_ : 0), 1e-30);
  }
  bool is_free(std::int64_t j) const { return j < columns_ ? side_[j] != 0 : has_intercept_; }

  using CgState<T>::problem_, CgState<T>::tracker_, CgState<T>::design_, CgState<T>::columns_;
  using CgState<T>::weights_, CgState<T>::objective_, CgState<T>::bound_, CgState<T>::gap_;
  using CgState<T>::margins_, CgState<T>::trial_, CgState<T>::moves_, CgState<T>::step_products_;
  using CgState<T>::first_, CgState<T>::second_, CgState<T>::evaluate, CgState<T>::sum_of;

  bool has_intercept_;
  double l1_, l2_;
  std::vector<double> next_;       // weights of a trial
  std::vector<double> slopes_;     // of the loss alone
  std::vector<signed char> side_;  // of 0, on which a free weight is; 0: it is not free
  std::vector<T> gradient_, diagonal_, pseudo_, direction_, residual_, search_, curved_;
};

template <class T>
double L1NewtonCg<T>::penalty(const std::vector<double>& weights) const {
  double sum = 0;
  for (std::int64_t j = 0; j < columns_; ++j)
    sum += l1_ * std::abs(weights[j]) + l2_ / 2 * weights[j] * weights[j];
  return sum;
}

template <class T>
void L1NewtonCg<T>::start() {
  if (this->take_start()) {
    std::copy(weights_.begin(), weights_.end(), search_.begin());
    design_.multiply(search_.data(), search_[columns_], margins_.data());
    tracker_.add_passes(0.5);
  }
  objective_ = evaluate(margins_) + penalty(weights_);
}

template <class T>
void L1NewtonCg<T>::find_gradient() {
  if (has_intercept_) this->find_intercept(penalty(weights_));
  design_.gradient_and_diagonal(first_.data(), second_.data(), gradient_.data(), diagonal_.data());
  tracker_.add_passes(0.5);
  std::copy(gradient_.begin(), gradient_.end() - 1, slopes_.begin());
  for (std::int64_t j = 0; j < columns_; ++j) gradient_[j] += static_cast<T>(l2_ * weights_[j]);
  gradient_[columns_] = has_intercept_ ? static_cast<T>(sum_of(first_)) : T{0};
  diagonal_[columns_] = has_intercept_ ? static_cast<T>(sum_of(second_)) : T{0};
  bound_ = std::max(bound_, l1_lower_bound(problem_, first_.data(), slopes_.data(), columns_));
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
  const auto promise = [&](std::int64_t j) { return over(j) * over(j) / scale_of(j); };
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
      side_[j] = weights_[j] > 0 ? 1 : -1;
    else
      side_[j] = over(j) == 0 || promise(j) < least ? 0 : slope < 0 ? 1 : -1;
    pseudo_[j] = side_[j] == 0 ? T{0} : static_cast<T>(slope + l1_ * side_[j]);
  }
  pseudo_[columns_] = gradient_[columns_];
}

// search = residual / diagonal on the free weights; returns their product.
template <class T>
double L1NewtonCg<T>::precondition() {
  double product = 0;
  for (std::int64_t j = 0; j <= columns_; ++j) {
    curved_[j] =
        is_free(j) ? static_cast<T>(static_cast<double>(residual_[j]) / scale_of(j)) : T{0};
    product += static_cast<double>(curved_[j]) * static_cast<double>(residual_[j]);
  }
  return product;
}

template <class T>
void L1NewtonCg<T>::find_direction() {
  std::fill(direction_.begin(), direction_.end(), T{0});
  std::fill(moves_.begin(), moves_.end(), T{0});
  for (std::int64_t j = 0; j <= columns_; ++j) residual_[j] = -pseudo_[j];
  double length = precondition();
  search_ = curved_;
  const double first_length = length;
  for (int step = 0; step < kMostL1Steps && length > kL1Forcing * kL1Forcing * first_length;
       ++step) {
    const double sum = design_.curvature_multiply(search_.data(), search_[columns_], second_.data(),
                                                  step_products_.data(), curved_.data());
    tracker_.add_passes(1);
    curved_[columns_] = static_cast<T>(sum);
    double curvature = 0;
    for (std::int64_t j = 0; j <= columns_; ++j) {
      curved_[j] =
          is_free(j) ? curved_[j] + static_cast<T>(j < columns_ ? l2_ : 0) * search_[j] : T{0};
      curvature += static_cast<double>(curved_[j]) * static_cast<double>(search_[j]);
    }
    if (!(curvature > 0)) break;
    const T share = static_cast<T>(length / curvature);
    for (std::size_t r = 0; r < moves_.size(); ++r) moves_[r] += share * step_products_[r];
    for (std::int64_t j = 0; j <= columns_; ++j) {
      direction_[j] += share * search_[j];
      residual_[j] -= share * curved_[j];
    }
    const double before = length;
    length = precondition();
    const T keep = static_cast<T>(length / before);
    for (std::int64_t j = 0; j <= columns_; ++j) search_[j] = curved_[j] + keep * search_[j];
  }
}

// Halves the step until the objective has gone down enough. A step on which no weight crosses 0
// needs no pass.
template <class T>
bool L1NewtonCg<T>::search_line() {
  double share = 1;
  for (int attempt = 0; attempt < kHalvings; ++attempt, share /= 2) {
    double slope = 0;
    bool crosses = false;
    for (std::int64_t j = 0; j <= columns_; ++j) {
      next_[j] = weights_[j] + share * static_cast<double>(direction_[j]);
      if (j < columns_ && next_[j] * side_[j] < 0) {
        next_[j] = 0;
        crosses = true;
      }
      slope += static_cast<double>(pseudo_[j]) * (next_[j] - weights_[j]);
    }
    if (crosses) {
      std::copy(next_.begin(), next_.end(), search_.begin());
      design_.multiply(search_.data(), search_[columns_], trial_.data());
      tracker_.add_passes(0.5);
    } else {
      for (std::size_t r = 0; r < trial_.size(); ++r)
        trial_[r] = margins_[r] + static_cast<T>(share) * moves_[r];
    }
    const double value = evaluate(trial_) + penalty(next_);
    if (!(value < objective_) || value > objective_ + 1e-4 * slope) continue;
    margins_.swap(trial_);
    weights_.swap(next_);
    objective_ = value;
    return true;
  }
  evaluate(margins_);
  return false;
}

// Whether rounding decides now.
template <class T>
bool L1NewtonCg<T>::run_steps() {
  start();
  tracker_.set_scale(objective_);
  Stalls<T> stalls(kL1Stalls);
  for (int iteration = 0; iteration < problem_.options.max_iterations; ++iteration) {
    find_gradient();
    if (!tracker_.report(objective_, gap_) || tracker_.is_enough(objective_, gap_)) break;
    choose_free();
    find_direction();
    const double before = objective_;
    const bool is_better = search_line();
    stalls.note(before, objective_);
    if (!is_better || stalls.are_too_many()) return true;
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
