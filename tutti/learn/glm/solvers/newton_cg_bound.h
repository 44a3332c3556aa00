// Lower bound of the objective by a point of the dual problem.
#pragma once

#include "tutti/learn/glm/solvers/quadratic_model.h"

namespace tutti::learn {

// The dual value of s(t) = first + t * second * (moves + rest), for the largest t <= 1 that is
// feasible, where `rest` makes the sum of s zero if the intercept is unpenalised. The columns' sums
// of s need a pass only for an unpenalised intercept: of `first` they are the gradient less the
// penalty's part, of the whole step without `rest` they are
// -(residual + ridge * (weights + direction)).
template <class T>
double dual_lower_bound(QuadraticModel<T>& model);

}  // namespace tutti::learn
