// What every solver begins with and how it reports.
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

// Labels and weights in the type that is computed in.
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

// A gain below this share of the objective is rounding.
inline constexpr double kNothingToGain = 1e-15;

// Shares of the objective. In f32 an objective, and so a gap, is not known better than this.
inline constexpr double kNoiseOfF32 = 5e-7;
// In f64 a gap may still be this much where nothing can be gained any more, though less was asked
// for: that is where l1 penalties end, whose gap is as large as the error of a slope, of which the
// objective feels the square.
inline constexpr double kRestOfF64 = 1e-7;

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
  // `is_single`: the fit computes in f32.
  Tracker(const GlmOptions& options, bool is_single) : options_(options), is_single_(is_single) {}

  // Of the objective at the start: a perfect fit has objective 0, which no gap can be a share of.
  void set_scale(double objective) { scale_ = 1e-3 * objective; }
  void add_passes(double passes) { passes_ += passes; }
  // The gap as far as it is certain.
  double certain(double objective, double gap) const {
    return std::max(gap, is_single_ ? kNoiseOfF32 * std::abs(objective) : 0.0);
  }
  // Whether to end, and whether that is then what was asked for. f32 cannot tell which of its steps
  // still gain, so it ends by the gap as it is.
  bool is_enough(double objective, double gap) const {
    return gap <= options_.tolerance * std::max(objective, scale_);
  }
  bool is_certain(double objective, double gap) const {
    return is_enough(objective, certain(objective, gap));
  }
  // Whether a fit that nothing can improve any more is at its end, though the gap is not below the
  // tolerance: where that is smaller than rounding.
  bool is_rounding(double objective, double gap) const {
    return is_certain(objective, gap) ||
           (!is_single_ && gap <= kRestOfF64 * std::max(objective, scale_));
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
                      .dual_gap = certain(objective, gap)};
    solution.has_converged = !is_stopped_ && (is_certain(objective, gap) ||
                                              (has_nothing_to_gain && is_rounding(objective, gap)));
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
