#include "tutti/learn/glm/solvers/newton_cg.h"

#include <cmath>
#include <limits>

#include "tutti/learn/glm/solvers/newton_cg_fit.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kColumnGrain = 16384;
constexpr std::int64_t kRowsForASample = 65536;
constexpr std::int64_t kRowsPerColumn = 4;  // of a stream's sample, at least
constexpr int kMostSteps = 200;             // of one conjugate gradient
// Steps go on until the residual has shrunk to this, and the last step brought less than the share
// kStall of their mean.
constexpr double kForcing = 0.2;
constexpr double kStall = 0.5;
constexpr int kMostStalls = 3;

}  // namespace

template <class T>
double NewtonCg<T>::over_vectors(const std::function<double(std::int64_t, std::int64_t)>& body) {
  std::vector<double> sums(columns_ / kColumnGrain + 1);
  design_.threads().for_range(
      columns_ + 1, kColumnGrain,
      [&](std::int64_t begin, std::int64_t end) { sums[begin / kColumnGrain] = body(begin, end); });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

template <class T>
void NewtonCg<T>::start() {
  const GlmOptions& options = problem_.options;
  has_intercept_ = options.fit_intercept;
  is_free_ = has_intercept_ && !options.penalise_intercept;
  if (this->take_start() || !is_free_) return;
  const T* labels = problem_.labels.data();
  const auto sum = [&](bool with_labels) {
    return design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
      double total = 0;
      for (std::int64_t r = begin; r < end; ++r)
        total += (problem_.weights.empty() ? 1.0 : static_cast<double>(problem_.weights[r])) *
                 (with_labels ? static_cast<double>(labels[r]) : 1.0);
      return total;
    });
  };
  weights_[columns_] = constant_margin(options.loss, sum(true) / sum(false));
}

// Of this share of the rows.
template <class T>
void NewtonCg<T>::set_ridge(double share) {
  const GlmOptions& options = problem_.options;
  ridge_ = options.l2 * share;
  const double value = options.intercept_value;
  intercept_ridge_ = options.penalise_intercept ? ridge_ / (value * value) : 0;
}

// Margins, derivatives, gradient and diagonal of the losses of the rows that are selected, in one
// pass; returns the sum of the losses.
template <class T>
double NewtonCg<T>::look() {
  std::copy(weights_.begin(), weights_.end(), search_.begin());
  const auto fill = [&](std::int64_t begin, std::int64_t end) {
    loss_terms(problem_.options.loss, margins_.data() + begin, problem_.labels.data() + begin,
               problem_.weights_at(begin), end - begin, first_.data() + begin,
               second_.data() + begin);
  };
  design_.multiply_and_gradient(search_.data(), search_[columns_], fill, margins_.data(),
                                first_.data(), second_.data(), gradient_.data(), diagonal_.data());
  tracker_.add_passes(design_.share());
  const double losses = evaluate(margins_);
  gradient_[columns_] = has_intercept_ ? static_cast<T>(sum_of(first_)) : T{0};
  return losses;
}

template <class T>
void NewtonCg<T>::begin_stage() {
  set_ridge(design_.share());
  bound_ = -std::numeric_limits<double>::infinity();
  stalls_ = StallDetector<T>(kMostStalls);
  std::fill(direction_.begin(), direction_.end(), T{0});
  objective_ = look() + penalty(0);
  finish_gradient(false);
}

// Of the weights plus `share` of the direction.
template <class T>
double NewtonCg<T>::penalty(double share) const {
  double sum = 0;
  for (std::int64_t j = 0; j <= columns_; ++j) {
    const double weight = weights_[j] + share * static_cast<double>(direction_[j]);
    sum += ridge_of(j) * weight * weight;
  }
  return sum / 2;
}

template <class T>
void NewtonCg<T>::find_gradient() {
  if (is_free_) this->find_intercept(penalty(0));
  design_.gradient_and_diagonal(first_.data(), second_.data(), gradient_.data(), diagonal_.data());
  tracker_.add_passes(0.5 * design_.share());
  finish_gradient(true);
}

// The gradient's length bounds the gap, unless a free intercept still has to gain.
template <class T>
void NewtonCg<T>::finish_gradient(bool has_best_intercept) {
  gradient_[columns_] = has_intercept_ ? static_cast<T>(sum_of(first_)) : T{0};
  const double norm = over_vectors([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      gradient_[j] += static_cast<T>(ridge_of(j) * weights_[j]);
      if (ridge_of(j) > 0)
        sum += static_cast<double>(gradient_[j]) * static_cast<double>(gradient_[j]) / ridge_of(j);
    }
    return sum;
  });
  if (ridge_ > 0 && (has_best_intercept || !is_free_))
    bound_ = std::max(bound_, objective_ - norm / 2);
  gap_ = objective_ - bound_;
  has_gradient_ = true;
  curvature_columns_.clear();
}

// curved = Hessian * search; returns search . curved and leaves the products with the rows.
template <class T>
double NewtonCg<T>::multiply_hessian() {
  const double sum = design_.curvature_multiply(search_.data(), search_[columns_], second_.data(),
                                                step_products_.data(), curved_.data());
  tracker_.add_passes(design_.share());
  curved_[columns_] = has_intercept_ ? static_cast<T>(sum) : T{0};
  return over_vectors([&](std::int64_t begin, std::int64_t end) {
    double product = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      curved_[j] =
          static_cast<T>(row_scale_) * curved_[j] + static_cast<T>(ridge_of(j)) * search_[j];
      product += static_cast<double>(search_[j]) * static_cast<double>(curved_[j]);
    }
    return product;
  });
}

template <class T>
double NewtonCg<T>::intercept_diagonal() const {
  return has_intercept_ ? intercept_ridge_ + sum_of(second_) : 0;
}

template <class T>
double NewtonCg<T>::find_direction(double forcing) {
  std::fill(direction_.begin(), direction_.end(), T{0});
  std::fill(moves_.begin(), moves_.end(), T{0});
  for (std::int64_t j = 0; j <= columns_; ++j) residual_[j] = -gradient_[j];
  double length = preconditioner_.apply(residual_.data(), solved_.data());
  search_ = solved_;
  const double first_length = length;
  double gain = 0;  // of the quadratic model
  for (int step = 1; step <= kMostSteps && length > 0; ++step) {
    const double curvature = multiply_hessian();
    if (!(curvature > 0)) break;
    const double share = length / curvature, step_gain = share * length / 2;
    gain += step_gain;
    step_direction(share, length);
    if (length <= forcing * forcing * first_length && step_gain * step <= kStall * gain) break;
  }
  return gain;
}

// Goes `share` along the search direction and makes the next one.
template <class T>
void NewtonCg<T>::step_direction(double share, double& length) {
  const T step = static_cast<T>(share);
  design_.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) moves_[r] += step * step_products_[r];
  });
  over_vectors([&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      direction_[j] += step * search_[j];
      residual_[j] -= step * curved_[j];
    }
    return 0.0;
  });
  const double before = length;
  length = preconditioner_.apply(residual_.data(), solved_.data());
  const T keep = static_cast<T>(length / before);
  over_vectors([&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) search_[j] = solved_[j] + keep * search_[j];
    return 0.0;
  });
}

// Halves the step until the objective has gone down enough; returns its share, 0 when it cannot.
template <class T>
double NewtonCg<T>::search_line() {
  const double slope = over_vectors([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j)
      sum += static_cast<double>(gradient_[j]) * static_cast<double>(direction_[j]);
    return sum;
  });
  double share = 1;
  for (int attempt = 0; attempt < 40; ++attempt, share /= 2) {
    design_.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        trial_[r] = margins_[r] + static_cast<T>(share) * moves_[r];
    });
    const double value = evaluate(trial_) + penalty(share);
    if (value <= objective_ + 1e-4 * share * slope) {
      margins_.swap(trial_);
      for (std::int64_t j = 0; j <= columns_; ++j)
        weights_[j] += share * static_cast<double>(direction_[j]);
      objective_ = value;
      return share;
    }
  }
  evaluate(margins_);
  return 0;
}

// The first steps need not all rows, nor any reading. Whether there is a sample worth it; one says
// little about sparse columns that few of its rows have.
template <class T>
bool NewtonCg<T>::select_sample() {
  if (design_.is_sparse()) return false;
  if (design_.is_streamed()) {
    design_.select_residents();
    const double rows = design_.share() * static_cast<double>(design_.total_rows());
    return design_.share() < 1 && rows >= static_cast<double>(kRowsPerColumn * columns_);
  }
  design_.select(std::clamp<std::int64_t>(design_.total_rows() / kRowsForASample, 1, 8));
  return design_.stride() > 1;
}

// Whether the step to the minimum of the quadratic model leads to a better point.
template <class T>
bool NewtonCg<T>::step(double gain, bool is_sample) {
  // A step that still gains much is far from the end: its bound would be of no use.
  const bool is_far = gain > 0.01 * std::abs(objective_) && !tracker_.is_enough(objective_, gain);
  if (!is_sample && !is_far) bound_ = std::max(bound_, lower_bound());
  const double before = objective_, share = search_line();
  stalls_.note(before, objective_);
  has_gradient_ = by_residents_ && share == 1;
  if (has_gradient_) {
    gradient_.swap(next_gradient_);
    finish_gradient(false);
  }
  gap_ = ridge_ > 0 ? objective_ - bound_ : gain;
  has_nothing_to_gain_ = share == 0 || stalls_.is_stalled();
  return !has_nothing_to_gain_ && !(is_sample && before - objective_ < 1e-2 * objective_);
}

// Before the rows are looked at, when all margins are the intercept: where they come from a file,
// the others are read meanwhile.
template <class T>
void NewtonCg<T>::correlate_at_start() {
  std::fill(margins_.begin(), margins_.end(), static_cast<T>(weights_[columns_]));
  evaluate(margins_);
  preconditioner_.correlate(second_.data());
}

template <class T>
void NewtonCg<T>::run_stage(bool is_sample) {
  const bool is_first = tracker_.passes() < 1;
  if (is_sample) correlate_at_start();
  begin_stage();
  if (!is_sample && is_first) tracker_.set_scale(objective_);
  if (by_residents_ && tracker_.is_enough(objective_, gap_)) {
    tracker_.report(objective_, gap_);
    return;
  }
  for (int iteration = 0; iteration < problem_.options.max_iterations; ++iteration) {
    if (!has_gradient_) find_gradient();
    if (!is_sample && tracker_.is_enough(objective_, gap_)) return;
    if (!preconditioner_.is_correlated()) preconditioner_.correlate(second_.data());
    preconditioner_.set_diagonal(diagonal_.data(), intercept_diagonal(), ridge_);
    const double gain = by_residents_ ? find_direction_by_residents() : find_direction(kForcing);
    has_nothing_to_gain_ = gain <= kNothingToGain * std::abs(objective_);
    if (has_nothing_to_gain_) {  // that the objective could tell; the weights still gain digits
      for (std::int64_t j = 0; j <= columns_; ++j)
        weights_[j] += static_cast<double>(direction_[j]);
      return;
    }
    const bool is_better = step(gain, is_sample);
    if (!is_sample && !tracker_.report(objective_, gap_)) return;
    if (!is_sample && tracker_.is_enough(objective_, gap_)) return;
    if (!is_better) return;
  }
}

template <class T>
Solution NewtonCg<T>::run() {
  tracker_.run([&] {
    start();
    const bool has_sample = select_sample();
    if (has_sample && problem_.options.start_coefficients.empty()) run_stage(true);
    by_residents_ = has_sample && are_residents_enough();
    if (by_residents_ && preconditioner_.is_correlated() && preconditioner_.is_whole())
      read_in_parts();
    design_.select(1);
    run_stage(false);
  });
  return tracker_.found(weights_, objective_, gap_, has_nothing_to_gain_);
}

template <class T>
Solution solve_newton_cg(Problem<T>& problem, Tracker& tracker) {
  return NewtonCg<T>(problem, tracker).run();
}

template Solution solve_newton_cg(Problem<float>&, Tracker&);
template Solution solve_newton_cg(Problem<double>&, Tracker&);

}  // namespace tutti::learn
