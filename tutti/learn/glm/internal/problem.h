// What every solver begins with and how it reports.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/learn/glm/internal/design.h"
#include "tutti/learn/glm/options.h"

namespace tutti::learn {

// Labels and weights in the type that is computed in.
template <class T>
struct Problem {
  Problem(Design<T>& design_, std::span<const double> labels_, std::span<const double> weights_,
          const GlmOptions& options_)
      : design(design_),
        options(options_),
        labels(labels_.begin(), labels_.end()),
        weights(weights_.begin(), weights_.end()) {}

  Design<T>& design;
  const GlmOptions& options;
  std::vector<T> labels, weights;

  const T* weights_at(std::int64_t row) const {
    return weights.empty() ? nullptr : weights.data() + row;
  }
};

// A gain below this share of the objective is rounding.
inline constexpr double kNothingToGain = 1e-15;

// The share of the objective that a gap may still be where a fit in T can gain nothing more, though
// less was asked for. In f64 that is where l1 penalties end: their gap is as large as the error of
// a slope, of which the objective feels the square. f32 is worse by so much that its user has to be
// told.
template <class T>
constexpr double rounding_of() {
  return sizeof(T) == 4 ? 0 : 1e-7;
}

// What a solver found, in the order of the design's columns.
struct Solution {
  std::vector<double> coefficients;
  double intercept = 0;
  double objective = 0, dual_gap = 0;
  bool has_converged = false;
  int inner_rounds = 0;
};

// Thrown out of a pass when the caller wants no more of the fit.
struct Stopped {};

// Keeps the history of a fit, says when it is over and what was found.
class Tracker {
 public:
  // `rounding`: see rounding_of.
  Tracker(const GlmOptions& options, double rounding) : options_(options), rounding_(rounding) {}

  // Of the objective at the start: a perfect fit has objective 0, which no gap can be a share of.
  void set_scale(double objective) { scale_ = 1e-3 * objective; }
  void add_passes(double passes) { passes_ += passes; }
  bool is_enough(double objective, double gap) const {
    return gap <= options_.tolerance * std::max(objective, scale_);
  }
  // Whether a fit that nothing can improve any more is at its end, though the gap is not below the
  // tolerance: where that is smaller than rounding.
  bool is_rounding(double objective, double gap) const {
    return is_enough(objective, gap) || gap <= rounding_ * std::max(objective, scale_);
  }
  // Whether to go on.
  bool report(double objective, double gap) {
    const int iteration = static_cast<int>(history_.size()) + 1;
    history_.push_back({iteration, passes_, watch_.seconds(), objective, gap});
    return !options_.on_progress || options_.on_progress(history_.back());
  }
  // All that a solver does, unless it is stopped on the way.
  template <class Stages>
  void run(const Stages& stages) {
    try {
      stages();
    } catch (const Stopped&) {
      is_stopped_ = true;
    }
  }
  // Of `weights` with the intercept last. Something was found for good when the gap is small
  // enough, or nothing can be gained any more and it is within rounding.
  template <class Weight>
  Solution found(const std::vector<Weight>& weights, double objective, double gap,
                 bool has_nothing_to_gain = false) const {
    Solution solution{.coefficients = {weights.begin(), weights.end() - 1},
                      .intercept = static_cast<double>(weights.back()),
                      .objective = objective,
                      .dual_gap = std::max(0.0, gap)};
    solution.has_converged = !is_stopped_ && (is_enough(objective, gap) ||
                                              (has_nothing_to_gain && is_rounding(objective, gap)));
    return solution;
  }
  std::vector<Progress> take() { return std::move(history_); }
  double passes() const { return passes_; }

 private:
  const GlmOptions& options_;
  Stopwatch watch_;
  double rounding_, scale_ = 0, passes_ = 0;
  bool is_stopped_ = false;
  std::vector<Progress> history_;
};

}  // namespace tutti::learn
