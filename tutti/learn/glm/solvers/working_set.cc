#include "tutti/learn/glm/solvers/working_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tutti/core/random.h"
#include "tutti/learn/base/vector_kernels.h"
#include "tutti/learn/glm/linalg/quadratic.h"
#include "tutti/learn/glm/problem/cg_state.h"
#include "tutti/learn/glm/problem/l1_bound.h"
#include "tutti/learn/glm/problem/stall_detector.h"

namespace tutti::learn {
namespace {

constexpr std::size_t kSmallestSet = 100;
constexpr int kNewtonSteps = 10;  // per working set
constexpr int kSweeps = 100;      // per Newton step
// After more sweeps, the columns are considered strongly correlated.
constexpr int kSlowSweeps = 25;
constexpr std::size_t kMaxForGram = 512;
constexpr int kStalls = 5;

// Lipschitz constant of the derivative of the loss; infinite if there is none.
double smoothness(Loss loss) {
  switch (loss) {
    case Loss::kSquared: return 1;
    case Loss::kLogistic: return 0.25;
    case Loss::kSquaredHinge: return 2;
    default: return std::numeric_limits<double>::infinity();
  }
}

template <class T>
class WorkingSet {
 public:
  WorkingSet(Problem<T>& problem, const Matrix& columns, Tracker& tracker)
      : state_(problem, tracker, columns.columns),
        view_{columns.offsets, columns.indices, static_cast<const T*>(columns.values), false},
        count_(columns.columns),
        is_free_(problem.options.fit_intercept && !problem.options.penalise_intercept),
        l1_(problem.options.l1),
        l2_(problem.options.l2),
        loss_gradient_(count_),
        alive_(count_) {
    std::iota(alive_.begin(), alive_.end(), 0);
  }

  Solution run();

 private:
  void start();
  double penalty(double step_size) const;
  void compute_gradient();
  void find_gap();
  void drop_columns();
  void choose_set();
  void minimise_on_set();
  void shuffle();
  double sweep(const std::vector<double>& curvatures);
  double sweep_until_small(const std::vector<double>& curvatures);
  double solve_by_gram();
  std::vector<double> gram_of_set() const;
  double column_dot(std::int64_t j, const std::vector<T>& rows) const;
  void move_column(std::int64_t j, T step);
  bool search_line(double promised);
  double& intercept() { return state_.weights[count_]; }
  double value_of(std::int64_t i) const { return view_.values == nullptr ? 1 : view_.values[i]; }

  CgState<T> state_;
  SparseRows<T> view_;  // CSC: its "rows" are the columns
  std::int64_t count_;
  bool is_free_;
  double l1_, l2_;
  double intercept_step_ = 0;
  bool is_slow_ = false;  // coordinate descent converges slowly
  double scale_ = 1;      // of the dual point
  std::vector<double> loss_gradient_,
      norms_;  // per column: gradient of the loss alone; norm of the values
  std::vector<std::int64_t> alive_, set_;
  std::vector<double> steps_;  // per column of the working set
  std::vector<std::size_t> order_;
  std::uint64_t draws_ = 0;
  // Per row: first derivative of the quadratic model after the steps so far.
  std::vector<T>& changed_ = state_.step_products;
};

// Penalty of the weights plus `step_size` times the steps.
template <class T>
double WorkingSet<T>::penalty(double step_size) const {
  double sum = 0;
  const auto add = [&](double w) { sum += l1_ * std::abs(w) + l2_ / 2 * w * w; };
  for (std::size_t k = 0; k < set_.size(); ++k)
    add(state_.weights[set_[k]] + step_size * steps_[k]);
  return sum;
}

template <class T>
void WorkingSet<T>::start() {
  const GlmOptions& options = state_.problem.options;
  norms_.resize(count_);
  state_.design.threads().for_range(count_, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      double sum = 0;
      for (std::int64_t i = view_.offsets[j]; i < view_.offsets[j + 1]; ++i)
        sum += value_of(i) * value_of(i);
      norms_[j] = std::sqrt(sum);
    }
  });
  std::copy(options.start_coefficients.begin(), options.start_coefficients.end(),
            state_.weights.begin());
  if (is_free_ && !options.start_coefficients.empty()) intercept() = options.start_intercept;
  std::fill(state_.margins.begin(), state_.margins.end(), static_cast<T>(intercept()));
  for (std::int64_t j = 0; j < count_; ++j) {
    if (state_.weights[j] == 0) continue;
    add_sparse_row(view_, j, static_cast<T>(state_.weights[j]), state_.margins.data());
    set_.push_back(j);
  }
  steps_.assign(set_.size(), 0);
  state_.objective = state_.evaluate(state_.margins) + penalty(0);
}

template <class T>
void WorkingSet<T>::compute_gradient() {
  state_.design.threads().for_range(
      static_cast<std::int64_t>(alive_.size()), 128, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) {
          double& derivative = loss_gradient_[alive_[k]];
          derivative = static_cast<double>(sparse_dot(view_, alive_[k], state_.first.data()));
          // The gap depends on the largest derivatives, so these are summed in f64.
          if (std::abs(derivative) > 0.999 * l1_) derivative = column_dot(alive_[k], state_.first);
        }
      });
  state_.tracker.add_passes(static_cast<double>(alive_.size()) /
                            static_cast<double>(std::max<std::int64_t>(1, count_)));
}

// Accumulates in f64 for any type of the rows.
template <class T>
double WorkingSet<T>::column_dot(std::int64_t j, const std::vector<T>& rows) const {
  double sum = 0;
  for (std::int64_t i = view_.offsets[j]; i < view_.offsets[j + 1]; ++i)
    sum += value_of(i) * static_cast<double>(rows[view_.indices[i]]);
  return sum;
}

template <class T>
void WorkingSet<T>::find_gap() {
  std::vector<double> sums;
  for (const std::int64_t j : alive_) sums.push_back(loss_gradient_[j]);
  if (std::ranges::any_of(sums, [](double sum) { return std::isnan(sum); })) {
    state_.gap = std::numeric_limits<double>::quiet_NaN();  // of an overflow
    return;
  }
  const double bound = l1_lower_bound(state_.problem, state_.first.data(), sums.data(),
                                      static_cast<std::int64_t>(sums.size()), &scale_);
  state_.bound = std::max(state_.bound, bound);
  state_.gap = std::max(0.0, state_.objective - state_.bound);
}

// Gap Safe screening: the dual optimum is within a ball around the dual point whose radius follows from the gap. A
// column below l1 in the whole ball has weight 0 at the optimum.
template <class T>
void WorkingSet<T>::drop_columns() {
  const T heaviest =
      state_.problem.weights.empty()
          ? T{1}
          : *std::max_element(state_.problem.weights.begin(), state_.problem.weights.end());
  const double radius = std::sqrt(2 * smoothness(state_.problem.options.loss) *
                                  static_cast<double>(heaviest) * state_.gap);
  if (!std::isfinite(radius)) return;
  std::erase_if(alive_, [&](std::int64_t j) {
    return state_.weights[j] == 0 &&
           std::abs(scale_ * loss_gradient_[j]) + radius * norms_[j] < l1_;
  });
}

template <class T>
void WorkingSet<T>::choose_set() {
  std::vector<std::int64_t> idle;
  set_.clear();
  for (const std::int64_t j : alive_) {
    if (state_.weights[j] != 0) {
      set_.push_back(j);
    } else if (std::abs(loss_gradient_[j]) > l1_ && norms_[j] > 0) {
      idle.push_back(j);
    }
  }
  // The optimum has at most as many weights as rows; more are the remains of unfinished sweeps.
  const std::size_t used = set_.size(), rows = state_.margins.size();
  const std::size_t most = std::max({kSmallestSet, rows / 2, used + kSmallestSet / 4});
  const std::size_t wanted = std::min(most, std::max(kSmallestSet, 2 * used)) - used;
  const auto is_better = [&](std::int64_t a, std::int64_t b) {
    const double x = std::abs(loss_gradient_[a]), y = std::abs(loss_gradient_[b]);
    return x != y ? x > y : a < b;
  };
  if (idle.size() > wanted) {
    std::nth_element(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(wanted), idle.end(),
                     is_better);
    idle.resize(wanted);
  }
  set_.insert(set_.end(), idle.begin(), idle.end());
  std::sort(set_.begin(), set_.end());
}

template <class T>
void WorkingSet<T>::move_column(std::int64_t j, T step) {
  for (std::int64_t i = view_.offsets[j]; i < view_.offsets[j + 1]; ++i) {
    const std::int32_t r = view_.indices[i];
    const T move = step * static_cast<T>(value_of(i));
    state_.moves[r] += move;
    changed_[r] += state_.second[r] * move;
  }
}

template <class T>
void WorkingSet<T>::shuffle() {
  order_.resize(set_.size());
  std::iota(order_.begin(), order_.end(), 0);
  for (std::size_t k = order_.size(); k > 1; --k)
    std::swap(order_[k - 1], order_[scaled_below(split_mix(draws_++), k)]);
}

// One sweep over the working set in random order, which needs far fewer sweeps than a fixed one if columns are
// correlated; returns the gain of the quadratic model.
template <class T>
double WorkingSet<T>::sweep(const std::vector<double>& curvatures) {
  double gain = 0;
  shuffle();
  for (const std::size_t k : order_) {
    const double curvature = curvatures[k] + l2_, now = state_.weights[set_[k]] + steps_[k];
    if (!(curvature > 0)) continue;
    const double derivative =
        static_cast<double>(sparse_dot(view_, set_[k], changed_.data())) + l2_ * now;
    const double next = soft_threshold(now - derivative / curvature, l1_ / curvature),
                 move = next - now;
    if (move == 0) continue;
    gain -=
        derivative * move + curvature * move * move / 2 + l1_ * (std::abs(next) - std::abs(now));
    steps_[k] += move;
    move_column(set_[k], static_cast<T>(move));
  }
  if (!is_free_) return gain;
  const double curvature = state_.sum_of(state_.second), derivative = state_.sum_of(changed_);
  if (!(curvature > 0)) return gain;
  const double move = -derivative / curvature;
  intercept_step_ += move;
  for (std::size_t r = 0; r < state_.moves.size(); ++r) {
    state_.moves[r] += static_cast<T>(move);
    changed_[r] += state_.second[r] * static_cast<T>(move);
  }
  return gain + derivative * derivative / (2 * curvature);
}

template <class T>
double WorkingSet<T>::sweep_until_small(const std::vector<double>& curvatures) {
  double gain = 0;
  for (int i = 0; i < kSweeps; ++i) {
    const double swept = sweep(curvatures);
    gain += swept;
    if (swept <= 0.02 * gain || swept <= 1e-22 * std::abs(state_.objective)) break;
    is_slow_ = is_slow_ || i == kSlowSweeps;
  }
  return gain;
}

// Computes the Hessian of the working set and, last, the intercept.
template <class T>
std::vector<double> WorkingSet<T>::gram_of_set() const {
  const std::int64_t count = static_cast<std::int64_t>(set_.size()), size = count + is_free_;
  std::vector<double> gram(size * size);
  const auto put = [&](std::int64_t a, std::int64_t b, double value) {
    gram[a * size + b] = gram[b * size + a] = value;
  };
  state_.design.threads().run(count, [&](std::int64_t a) {
    std::vector<T> curved(state_.second.size());
    for (std::int64_t i = view_.offsets[set_[a]]; i < view_.offsets[set_[a] + 1]; ++i) {
      const std::int32_t r = view_.indices[i];
      curved[r] = state_.second[r] * static_cast<T>(value_of(i));
    }
    for (std::int64_t b = 0; b <= a; ++b) put(a, b, column_dot(set_[b], curved));
    if (is_free_) put(a, count, std::accumulate(curved.begin(), curved.end(), 0.0));
    gram[a * size + a] += l2_;
  });
  if (is_free_) put(count, count, state_.sum_of(state_.second));
  return gram;
}

// Minimises the quadratic model on the working set with an explicit Hessian, without passes over the rows: for strongly
// correlated columns, where sweeps would need hundreds. Returns the gain of the model.
template <class T>
double WorkingSet<T>::solve_by_gram() {
  const std::size_t count = set_.size();
  const std::vector<double> gram = gram_of_set();
  std::vector<double> gradient(count + is_free_), weights(count + is_free_);
  for (std::size_t k = 0; k < count; ++k) {
    weights[k] = state_.weights[set_[k]];
    gradient[k] = column_dot(set_[k], state_.first) + l2_ * weights[k];
  }
  if (is_free_) gradient[count] = state_.sum_of(state_.first);
  const std::vector<double> steps =
      minimise_quadratic(gradient, gram, weights, l1_, static_cast<std::int64_t>(count));
  double gain = 0;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    double curved = 0;
    for (std::size_t l = 0; l < steps.size(); ++l) curved += gram[k * steps.size() + l] * steps[l];
    gain -= steps[k] * (gradient[k] + curved / 2);
    if (k == count) continue;
    gain -= l1_ * (std::abs(weights[k] + steps[k]) - std::abs(weights[k]));
    steps_[k] = steps[k];
    add_sparse_row(view_, set_[k], static_cast<T>(steps[k]), state_.moves.data());
  }
  if (!is_free_) return gain;
  intercept_step_ = steps[count];
  for (T& move : state_.moves) move += static_cast<T>(steps[count]);
  return gain;
}

template <class T>
bool WorkingSet<T>::search_line(double promised) {
  double step_size = 1;
  for (int attempt = 0; attempt < 40; ++attempt, step_size /= 2) {
    for (std::size_t r = 0; r < state_.margins.size(); ++r)
      state_.trial[r] = state_.margins[r] + static_cast<T>(step_size) * state_.moves[r];
    const double value = state_.evaluate(state_.trial) + penalty(step_size);
    // Gains below the resolution of the objective still reduce the gap.
    const bool is_blind = promised <= kRelativeRounding * std::abs(state_.objective);
    if (!is_blind && value > state_.objective - 1e-4 * step_size * promised) continue;
    state_.margins.swap(state_.trial);
    for (std::size_t k = 0; k < set_.size(); ++k) state_.weights[set_[k]] += step_size * steps_[k];
    intercept() += step_size * intercept_step_;
    state_.objective = value;
    return true;
  }
  state_.evaluate(state_.margins);
  return false;
}

template <class T>
void WorkingSet<T>::minimise_on_set() {
  std::vector<double> curvatures(set_.size());
  for (int newton = 0; newton < kNewtonSteps; ++newton) {
    state_.design.threads().for_range(
        static_cast<std::int64_t>(set_.size()), 16, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t k = begin; k < end; ++k) {
            curvatures[k] = 0;
            for (std::int64_t i = view_.offsets[set_[k]]; i < view_.offsets[set_[k] + 1]; ++i)
              curvatures[k] +=
                  value_of(i) * value_of(i) * static_cast<double>(state_.second[view_.indices[i]]);
          }
        });
    steps_.assign(set_.size(), 0);
    intercept_step_ = 0;
    std::fill(state_.moves.begin(), state_.moves.end(), T{0});
    changed_ = state_.first;
    const bool by_gram = is_slow_ && set_.size() <= kMaxForGram;
    const double gain = by_gram ? solve_by_gram() : sweep_until_small(curvatures);
    if (!(gain > 0) || !search_line(gain)) return;
    if (gain < 0.1 * state_.gap) return;
  }
}

template <class T>
Solution WorkingSet<T>::run() {
  start();
  state_.tracker.set_scale(state_.objective);
  double before = std::numeric_limits<double>::infinity();
  double bound_before = -before;
  StallDetector<T> stalls(kStalls), bounds(kStalls);
  bool is_stuck = false;
  for (int iteration = 0; iteration < state_.problem.options.max_iterations; ++iteration) {
    if (is_free_) state_.find_intercept(penalty(0), 30, 1e-18);
    compute_gradient();
    find_gap();
    if (!state_.tracker.report(state_.objective, state_.gap) ||
        state_.tracker.is_within_tolerance(state_.objective, state_.gap))
      break;
    stalls.note(before, state_.objective);
    // Limited by floating-point precision: neither the objective nor the bound improves.
    bounds.note(-bound_before, -state_.bound);
    is_stuck = (!(state_.objective < before) || stalls.is_stalled()) && bounds.is_stalled();
    if (is_stuck) break;
    bound_before = state_.bound;
    is_slow_ = is_slow_ || stalls.count() > 0;
    before = state_.objective;
    if (iteration % 2 == 0) drop_columns();
    choose_set();
    minimise_on_set();
    steps_.assign(set_.size(), 0);
  }
  return state_.tracker.found(state_.weights, state_.objective, state_.gap, is_stuck);
}

}  // namespace

template <class T>
Solution solve_working_set(Problem<T>& problem, const Matrix& columns, Tracker& tracker) {
  return WorkingSet<T>(problem, columns, tracker).run();
}

template Solution solve_working_set(Problem<float>&, const Matrix&, Tracker&);
template Solution solve_working_set(Problem<double>&, const Matrix&, Tracker&);

}  // namespace tutti::learn
