#include "tutti/learn/glm/solvers/newton_cg.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tutti/learn/glm/problem/stall_detector.h"
#include "tutti/learn/glm/solvers/newton_cg_bound.h"
#include "tutti/learn/glm/solvers/newton_cg_stream.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kMinRowsToSample = 65536;
constexpr std::int64_t kRowsPerColumn = 4;  // minimum size of the sample of a stream
constexpr double kForcing = 0.2;            // relative residual at which CG stops
constexpr double kExactForcing =
    0.01;  // the same for the squared loss, whose quadratic model is exact
constexpr int kMaxStalls = 3;

template <class T>
class NewtonCg {
 public:
  NewtonCg(Problem<T>& problem, Tracker& tracker) : state_(problem, tracker) {}

  Solution run();

 private:
  void start();
  bool select_sample();
  void run_stage(bool is_sample);
  bool step(double gain, bool is_sample);
  void correlate_at_start();
  void begin_stage();
  void find_gradient();
  void finish_gradient(bool has_best_intercept);
  double search_line();

  CgState<T> state_;
  QuadraticModel<T> model_{state_};
  StreamedNewton<T> stream_{model_};
  StallDetector<T> stalls_{0};  // of the current stage
  bool by_residents_ = false, has_gradient_ = false, has_nothing_to_gain_ = false;
};

template <class T>
void NewtonCg<T>::start() {
  const GlmOptions& options = state_.problem.options;
  if (state_.take_start() || !model_.is_free) return;
  const T* labels = state_.problem.labels.data();
  const auto sum = [&](bool with_labels) {
    return state_.design.sum_blocks([&](std::int64_t begin, std::int64_t end) {
      double total = 0;
      for (std::int64_t r = begin; r < end; ++r)
        total += (state_.problem.weights.empty() ? 1.0
                                                 : static_cast<double>(state_.problem.weights[r])) *
                 (with_labels ? static_cast<double>(labels[r]) : 1.0);
      return total;
    });
  };
  state_.weights[state_.columns] = constant_margin(options.loss, sum(true) / sum(false));
}

template <class T>
void NewtonCg<T>::begin_stage() {
  model_.set_ridge(state_.design.selected_fraction());
  state_.bound = -std::numeric_limits<double>::infinity();
  stalls_ = StallDetector<T>(kMaxStalls);
  std::fill(model_.direction.begin(), model_.direction.end(), T{0});
  state_.objective = model_.evaluate() + model_.penalty(0);
  finish_gradient(false);
}

template <class T>
void NewtonCg<T>::find_gradient() {
  if (model_.is_free) state_.find_intercept(model_.penalty(0));
  state_.design.gradient_and_diagonal(state_.first.data(), state_.second.data(),
                                      model_.gradient.data(), model_.diagonal.data());
  state_.tracker.add_passes(0.5 * state_.design.selected_fraction());
  finish_gradient(true);
}

// Gap bound from the norm of the gradient, valid if an unpenalised intercept is optimal.
template <class T>
void NewtonCg<T>::finish_gradient(bool has_best_intercept) {
  model_.gradient[state_.columns] =
      model_.has_intercept ? static_cast<T>(state_.sum_of(state_.first)) : T{0};
  const double norm = model_.over_vectors([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      model_.gradient[j] += static_cast<T>(model_.ridge_of(j) * state_.weights[j]);
      if (model_.ridge_of(j) > 0)
        sum += static_cast<double>(model_.gradient[j]) * static_cast<double>(model_.gradient[j]) /
               model_.ridge_of(j);
    }
    return sum;
  });
  if (model_.ridge > 0 && (has_best_intercept || !model_.is_free))
    state_.bound = std::max(state_.bound, state_.objective - norm / 2);
  state_.gap = state_.objective - state_.bound;
  has_gradient_ = true;
  model_.curvature_columns.clear();
}

// Backtracking line search. Returns the accepted fraction of the step, or 0.
template <class T>
double NewtonCg<T>::search_line() {
  const double directional_derivative =
      model_.over_vectors([&](std::int64_t begin, std::int64_t end) {
        double sum = 0;
        for (std::int64_t j = begin; j < end; ++j)
          sum += static_cast<double>(model_.gradient[j]) * static_cast<double>(model_.direction[j]);
        return sum;
      });
  double step_size = 1;
  for (int attempt = 0; attempt < 40; ++attempt, step_size /= 2) {
    state_.design.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        state_.trial[r] = state_.margins[r] + static_cast<T>(step_size) * state_.moves[r];
    });
    const double value = state_.evaluate(state_.trial) + model_.penalty(step_size);
    if (value <= state_.objective + 1e-4 * step_size * directional_derivative) {
      state_.margins.swap(state_.trial);
      for (std::int64_t j = 0; j <= state_.columns; ++j)
        state_.weights[j] += step_size * static_cast<double>(model_.direction[j]);
      state_.objective = value;
      return step_size;
    }
  }
  state_.evaluate(state_.margins);
  return 0;
}

// The first steps use a sample, for streams without I/O. Returns whether a useful sample exists; for sparse columns
// with few rows in it, it does not.
template <class T>
bool NewtonCg<T>::select_sample() {
  if (state_.design.is_sparse()) return false;
  if (state_.design.is_streamed()) {
    state_.design.select_residents();
    const double rows =
        state_.design.selected_fraction() * static_cast<double>(state_.design.total_rows());
    return state_.design.selected_fraction() < 1 &&
           rows >= static_cast<double>(kRowsPerColumn * state_.columns);
  }
  state_.design.select(
      std::clamp<std::int64_t>(state_.design.total_rows() / kMinRowsToSample, 1, 8));
  return state_.design.stride() > 1;
}

// Returns whether the step to the minimum of the quadratic model improves the objective.
template <class T>
bool NewtonCg<T>::step(double gain, bool is_sample) {
  // A large predicted gain means that the fit is far from the optimum, where a bound would not help.
  const bool is_far = gain > 0.01 * std::abs(state_.objective) &&
                      !state_.tracker.is_within_tolerance(state_.objective, gain);
  if (!is_sample && !is_far) state_.bound = std::max(state_.bound, dual_lower_bound(model_));
  const double before = state_.objective, step_size = search_line();
  stalls_.note(before, state_.objective);
  has_gradient_ = by_residents_ && step_size == 1;
  if (has_gradient_) {
    model_.gradient.swap(stream_.next_gradient);
    finish_gradient(false);
  }
  state_.gap = model_.ridge > 0 ? state_.objective - state_.bound : gain;
  has_nothing_to_gain_ = step_size == 0 || stalls_.is_stalled();
  return !has_nothing_to_gain_ &&
         !(is_sample && before - state_.objective < 1e-2 * state_.objective);
}

// Initialises before the first pass, when all margins equal the intercept. The first chunks of a file are read
// meanwhile.
template <class T>
void NewtonCg<T>::correlate_at_start() {
  std::fill(state_.margins.begin(), state_.margins.end(),
            static_cast<T>(state_.weights[state_.columns]));
  state_.evaluate(state_.margins);
  model_.preconditioner.correlate(state_.second.data());
}

template <class T>
void NewtonCg<T>::run_stage(bool is_sample) {
  const bool is_first = state_.tracker.passes() < 1;
  if (is_sample) correlate_at_start();
  begin_stage();
  if (!is_sample && is_first) state_.tracker.set_scale(state_.objective);
  if (by_residents_ && state_.tracker.is_within_tolerance(state_.objective, state_.gap)) {
    state_.tracker.report(state_.objective, state_.gap);
    return;
  }
  for (int iteration = 0; iteration < state_.problem.options.max_iterations; ++iteration) {
    if (!has_gradient_) find_gradient();
    if (!is_sample && state_.tracker.is_within_tolerance(state_.objective, state_.gap)) return;
    if (!model_.preconditioner.is_correlated())
      model_.preconditioner.correlate(state_.second.data());
    model_.preconditioner.set_diagonal(model_.diagonal.data(), model_.intercept_diagonal(),
                                       model_.ridge);
    const bool is_exact = state_.problem.options.loss == Loss::kSquared;
    const double gain = by_residents_ ? stream_.find_direction()
                                      : model_.find_direction(is_exact ? kExactForcing : kForcing);
    has_nothing_to_gain_ = gain <= kRelativeRounding * std::abs(state_.objective);
    if (has_nothing_to_gain_) {  // the objective cannot improve measurably; the weights still gain precision
      for (std::int64_t j = 0; j <= state_.columns; ++j)
        state_.weights[j] += static_cast<double>(model_.direction[j]);
      return;
    }
    const bool is_better = step(gain, is_sample);
    if (!is_sample && !state_.tracker.report(state_.objective, state_.gap)) return;
    if (!is_sample && state_.tracker.is_within_tolerance(state_.objective, state_.gap)) return;
    if (!is_better) return;
  }
}

template <class T>
Solution NewtonCg<T>::run() {
  state_.tracker.run([&] {
    start();
    const bool has_sample = select_sample();
    if (has_sample && state_.problem.options.start_coefficients.empty()) run_stage(true);
    by_residents_ = has_sample && stream_.has_enough_residents();
    if (by_residents_ && model_.preconditioner.is_correlated() && model_.preconditioner.is_whole())
      stream_.read_in_parts();
    state_.design.select(1);
    run_stage(false);
  });
  return state_.tracker.found(state_.weights, state_.objective, state_.gap, has_nothing_to_gain_);
}

}  // namespace

template <class T>
Solution solve_newton_cg(Problem<T>& problem, Tracker& tracker) {
  return NewtonCg<T>(problem, tracker).run();
}

template Solution solve_newton_cg(Problem<float>&, Tracker&);
template Solution solve_newton_cg(Problem<double>&, Tracker&);

}  // namespace tutti::learn
