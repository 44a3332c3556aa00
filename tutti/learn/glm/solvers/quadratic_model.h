// Quadratic model of the objective at the current weights. Preconditioned conjugate gradients minimise it, which gives
// the Newton direction.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tutti/learn/glm/linalg/preconditioner.h"
#include "tutti/learn/glm/problem/cg_state.h"

namespace tutti::learn {

// Vectors have one value per column, then the intercept.
template <class T>
struct QuadraticModel {
  explicit QuadraticModel(CgState<T>& state_);

  // Scales the penalties to this fraction of the rows.
  void set_ridge(double fraction);
  double ridge_of(std::int64_t j) const { return j < state.columns ? ridge : intercept_ridge; }
  // Penalty of the weights plus `step_size` times the direction.
  double penalty(double step_size) const;
  // Computes margins, derivatives, gradient and diagonal of the losses of the selected rows in one pass. Returns the
  // sum of the losses.
  double evaluate();
  double intercept_diagonal() const;
  // Returns the predicted gain. Stops when the relative residual is `forcing`, or when steps stall.
  double find_direction(double forcing);
  // curved = Hessian * search; returns search . curved and stores the products with the rows.
  double multiply_hessian();
  // Moves by `step_size` along the search direction and computes the next one.
  void step_direction(double step_size, double& length);
  // Sums body(begin, end) over ranges of the vectors, with all threads.
  double over_vectors(const std::function<double(std::int64_t, std::int64_t)>& body);

  CgState<T>& state;
  Preconditioner<T> preconditioner;
  double ridge = 0, intercept_ridge = 0;
  double row_scale = 1;  // rows represented by each selected row in Hessian products
  bool has_intercept, is_free;
  std::vector<T> gradient, diagonal, direction, residual, search, curved, solved;
  // With an unpenalised intercept: sums of the second derivatives per column; empty: unknown.
  std::vector<T> curvature_columns;
};

}  // namespace tutti::learn
