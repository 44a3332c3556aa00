// A step of Newton's method where the objective has an l1 penalty. Only some weights are free:
// those that are not 0, and those that the slope pulls away from it. Each keeps its side of 0, on
// which the penalty is straight; a weight that would cross stops at 0.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "tutti/learn/glm/problem/options.h"

namespace tutti::learn {

template <class T>
class L1Step {
 public:
  // What a fit has, and the step moves. Per row: margins, those of a trial, what the direction adds
  // to them, what one search direction adds.
  struct Iterate {
    std::vector<double>& weights;
    double& objective;
    std::vector<T>&margins, &trial, &moves, &products;
  };
  // What a fit knows of its rows. `evaluate` gives the loss at these margins, and makes the Hessian
  // that of there; `curve` fills products = rows . search and curved = Hessian of the loss *
  // search.
  struct Rows {
    std::function<void(const std::vector<T>& vector, std::vector<T>& margins)> multiply;
    std::function<void(const std::vector<T>& search, std::vector<T>& products,
                       std::vector<T>& curved)>
        curve;
    std::function<double(const std::vector<T>& margins)> evaluate;
  };

  // Weights go in groups of `width`; the last of each is an intercept, which is not penalised.
  L1Step(std::int64_t width, const GlmOptions& options, Iterate iterate, Rows rows);

  // Of a weight that is no intercept: its part of the Hessian's diagonal.
  double scale_of(std::int64_t i) const { return scale_of(i, l2_); }
  double penalty(const std::vector<double>& weights) const;

  // By conjugate gradients with at most so many products.
  void find_direction(int most_products);
  // The direction of the slopes, each by its own curvature: short, but it leads down also where
  // stopping at 0 has bent Newton's.
  void take_steepest_descent();
  // Goes along the direction, halving it until the objective has gone down enough; false: it has
  // not, and all is as before.
  bool search_line();

  // To be filled before: the diagonal of the loss's Hessian; the side of 0 on which a free weight
  // is, or 0 where it is not free; and the slope of the whole objective on that side.
  std::vector<T> diagonal, pseudo_gradient;
  std::vector<signed char> side;

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(iterate_.weights.size()); }
  // body(i, whether it is an intercept) for all weights.
  template <class Body>
  void for_weights(const Body& body) const {
    for (std::int64_t begin = 0; begin < size(); begin += width_) {
      const std::int64_t last = begin + width_ - 1;
      for (std::int64_t i = begin; i < last; ++i) body(i, false);
      body(last, true);
    }
  }
  bool is_free(std::int64_t i, bool is_intercept) const {
    return is_intercept ? has_intercept_ : side[i] != 0;
  }
  double scale_of(std::int64_t i, double ridge) const {
    return std::max(static_cast<double>(diagonal[i]) + ridge, 1e-30);
  }
  double precondition();
  double multiply_hessian();
  bool take_trial(double share, double& predicted_change);

  std::int64_t width_;
  bool has_intercept_;
  double l1_, l2_;
  Iterate iterate_;
  Rows rows_;
  std::vector<double> next_;  // weights of a trial
  std::vector<T> direction_, residual_, search_, curved_, solved_;
};

}  // namespace tutti::learn
