// The quadratic model of the objective at the current weights, and its minimum by preconditioned
// conjugate gradients: the direction of Newton's method.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tutti/learn/glm/linalg/preconditioner.h"
#include "tutti/learn/glm/problem/cg_state.h"

namespace tutti::learn {

// Vectors have one value per column, then the intercept's.
template <class T>
struct QuadraticModel {
  explicit QuadraticModel(CgState<T>& state_);

  // Penalties for this share of the rows.
  void set_ridge(double share);
  double ridge_of(std::int64_t j) const { return j < state.columns ? ridge : intercept_ridge; }
  // Penalty of the weights plus `share` of the direction.
  double penalty(double share) const;
  // Margins, derivatives, gradient and diagonal of the losses of the selected rows, in one pass;
  // returns the sum of the losses.
  double look();
  double intercept_diagonal() const;
  // Returns the model's gain. Ends when the residual has shrunk to `forcing`, and steps stall.
  double find_direction(double forcing);
  // curved = Hessian * search; returns search . curved and leaves the products with the rows.
  double multiply_hessian();
  // Goes `share` along the search direction and makes the next one.
  void step_direction(double share, double& length);
  // Sum of body(begin, end) over pieces of the vectors, by all threads.
  double over_vectors(const std::function<double(std::int64_t, std::int64_t)>& body);

  CgState<T>& state;
  Preconditioner<T> preconditioner;
  double ridge = 0, intercept_ridge = 0;
  double row_scale = 1;  // rows that each selected one stands for in products of the Hessian
  bool has_intercept, is_free;
  std::vector<T> gradient, diagonal, direction, residual, search, curved, solved;
  // With an unpenalised intercept: sums of second derivatives per column; empty: not known.
  std::vector<T> curvature_columns;
};

}  // namespace tutti::learn
