// Dual lower bound of the objective for Newton-CG.
#pragma once

#include "tutti/learn/glm/solvers/quadratic_model.h"

namespace tutti::learn {

// Returns the dual value of s(t) = first + t * second * (moves + rest) for the largest feasible t <= 1. `rest` makes
// the sum of s zero if the intercept is unpenalised. The column sums of s need a pass only for an unpenalised
// intercept: for `first` they are the gradient without the penalty, and for the whole step without `rest` they are
// -(residual + ridge * (weights + direction)).
template <class T>
double dual_lower_bound(QuadraticModel<T>& model);

}  // namespace tutti::learn
