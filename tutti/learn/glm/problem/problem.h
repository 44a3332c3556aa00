// Input of a solver, its convergence test and its result.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/learn/base/huge_pages.h"
#include "tutti/learn/glm/design/design.h"
#include "tutti/learn/glm/problem/options.h"

namespace tutti::learn {

// Labels and weights in the type of computation.
template <class T>
struct Problem {
  Problem(DesignMatrix<T>& design_, std::span<const double> labels_,
          std::span<const double> weights_, const GlmOptions& options_)
      : design(design_), options(options_) {
    reserve_large(labels, labels_.size());
    reserve_large(weights, weights_.size());
    labels.assign(labels_.begin(), labels_.end());
    weights.assign(weights_.begin(), weights_.end());
  }

  DesignMatrix<T>& design;
  const GlmOptions& options;
  std::vector<T> labels, weights;

  const T* weights_at(std::int64_t row) const {
    return weights.empty() ? nullptr : weights.data() + row;
  }
};

// Relative gain below which a step is rounding noise.
inline constexpr double kRelativeRounding = 1e-15;

// Relative precision of the objective, hence of the gap, in f32.
inline constexpr double kF32Precision = 5e-7;
// Relative gap in f64 that may remain when no further gain is possible. With an l1 penalty the gap is proportional to
// the error of the gradient, whereas the objective is proportional to its square.
inline constexpr double kF64GapPrecision = 1e-7;

// Result of a solver, in the column order of the design.
struct Solution {
  std::vector<double> coefficients;
  double intercept = 0;
  double objective = 0, dual_gap = 0;
  bool has_converged = false;
  int inner_rounds = 0;
};

// Thrown out of a pass when the caller stops the fit.
struct Stopped {};

// Convergence history and stopping criteria of a fit.
class Tracker {
 public:
  // `is_single`: the fit computes in f32.
  Tracker(const GlmOptions& options, bool is_single) : options_(options), is_single_(is_single) {}

  // Reference scale from the initial objective: a perfect fit has objective 0, and no gap is below a fraction of that.
  void set_scale(double objective) { scale_ = 1e-3 * objective; }
  void add_passes(double passes) { passes_ += passes; }
  // The gap, at least the precision of the type of computation.
  double certain(double objective, double gap) const {
    return std::max(gap, is_single_ ? kF32Precision * std::abs(objective) : 0.0);
  }
  // is_within_tolerance: the gap is below the tolerance. is_certain: it stays below when rounding errors of the type
  // are added. In f32 a solver stops by is_within_tolerance, because it cannot detect which of its steps still gain.
  bool is_within_tolerance(double objective, double gap) const {
    return gap <= options_.tolerance * std::max(objective, scale_);
  }
  bool is_certain(double objective, double gap) const {
    return is_within_tolerance(objective, certain(objective, gap));
  }
  // Whether a fit that cannot be improved further has converged to within floating-point precision, although the gap
  // exceeds the tolerance.
  bool is_at_precision_limit(double objective, double gap) const {
    return is_certain(objective, gap) ||
           (!is_single_ && gap <= kF64GapPrecision * std::max(objective, scale_));
  }
  // Appends to the history. Returns whether to continue. `iteration` 0: one more than the last.
  bool report(double objective, double gap, int iteration = 0) {
    if (iteration == 0) iteration = history_.empty() ? 1 : history_.back().iteration + 1;
    history_.push_back({iteration, passes_, watch_.seconds(), objective, gap});
    return !options_.on_progress || options_.on_progress(history_.back());
  }
  // Runs the stages of a solver; a Stopped exception ends them.
  template <class Stages>
  void run(const Stages& stages) {
    try {
      stages();
    } catch (const Stopped&) {
      is_stopped_ = true;
    }
  }
  // Builds the result; the last element of `weights` is the intercept. The fit has converged if the gap is below the
  // tolerance, or if no further gain is possible and the gap is within floating-point precision.
  template <class Weight>
  Solution found(const std::vector<Weight>& weights, double objective, double gap,
                 bool has_nothing_to_gain = false) const {
    Solution solution{.coefficients = {weights.begin(), weights.end() - 1},
                      .intercept = static_cast<double>(weights.back()),
                      .objective = objective,
                      .dual_gap = certain(objective, gap)};
    solution.has_converged =
        !is_stopped_ && (is_certain(objective, gap) ||
                         (has_nothing_to_gain && is_at_precision_limit(objective, gap)));
    return solution;
  }
  std::vector<Progress> take() { return std::move(history_); }
  double passes() const { return passes_; }

 private:
  const GlmOptions& options_;
  Stopwatch watch_;
  bool is_single_;
  double scale_ = 0, passes_ = 0;
  bool is_stopped_ = false;
  std::vector<Progress> history_;
};

}  // namespace tutti::learn
