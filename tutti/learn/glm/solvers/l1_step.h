// Orthant-wise Newton step for objectives with an l1 penalty.
//
// Only some weights are free: nonzero ones, and zero ones that the gradient moves away from 0. Each keeps its sign, so
// the penalty is linear; a weight that would cross 0 is stopped there.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "tutti/learn/glm/problem/options.h"

namespace tutti::learn {

// One step has two parts:
// 1. find_direction() minimises the quadratic model over the free weights by conjugate gradients, preconditioned with
//    the diagonal. Other weights stay 0.
// 2. search_line() tries fractions of the direction. A weight that would change its sign becomes 0, and the predicted
//    decrease is that of the stopped step (projected line search). A trial in which no weight stops costs no pass over
//    the data; any other costs one.
template <class T>
class L1Step {
 public:
  // State of the fit that the step updates. Per row: margin, trial margin, change along the direction, change along one
  // search direction.
  struct Iterate {
    std::vector<double>& weights;
    double& objective;
    std::vector<T>&margins, &trial, &moves, &products;
  };
  // Operations on the rows. `evaluate` returns the loss at these margins and moves the Hessian there; `curve` computes
  // products = rows . search and curved = Hessian of the loss * search.
  struct Rows {
    std::function<void(const std::vector<T>& vector, std::vector<T>& margins)> multiply;
    std::function<void(const std::vector<T>& search, std::vector<T>& products,
                       std::vector<T>& curved)>
        curve;
    std::function<double(const std::vector<T>& margins)> evaluate;
  };

  // Weights are stored in groups of `width`; the last one of each group is an unpenalised intercept.
  L1Step(std::int64_t width, const GlmOptions& options, Iterate iterate, Rows rows);

  // Diagonal of the Hessian for weight i, which must not be an intercept.
  double scale_of(std::int64_t i) const { return scale_of(i, l2_); }
  double penalty(const std::vector<double>& weights) const;

  // Computes the Newton direction by conjugate gradients with at most `most_products` Hessian products.
  void find_direction(int most_products);
  // Replaces the direction by the pseudo-gradient, scaled by the diagonal: a short step, but a descent direction even
  // if stopping at 0 has bent the Newton step.
  void take_steepest_descent();
  // Backtracking line search along the direction. Returns false, without changing anything, if the objective does not
  // decrease enough. `shrink` is the ratio of successive steps.
  bool search_line(double shrink = 0.5);

  // Inputs of a step, set by the caller: the diagonal of the Hessian of the loss; the pseudo-gradient, i.e. the
  // derivative of the objective on the side of 0 of each free weight; and that side (-1 or 1; 0: not free).
  std::vector<T> diagonal, pseudo_gradient;
  std::vector<signed char> side;

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(iterate_.weights.size()); }
  // Calls body(i, is_intercept) for all weights.
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
  bool take_trial(double step_size, double& predicted_change);

  std::int64_t width_;
  bool has_intercept_;
  double l1_, l2_;
  Iterate iterate_;
  Rows rows_;
  std::vector<double> next_;  // trial weights
  std::vector<T> direction_, residual_, search_, curved_, solved_;
};

}  // namespace tutti::learn
