// Dual lower bound for problems with an l1 penalty.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// Returns a lower bound of the optimum from the derivatives `first` of the losses. `columns` are their `count` sums
// over the columns, without the penalty. An unpenalised intercept must be optimal, so that `first` sums to 0; a
// penalised one is the last column and subject to l1. Without l2 the derivatives are scaled until no column sum exceeds
// l1; `scale`, if not null, receives the factor.
template <class T, class Derivative>
double l1_lower_bound(const Problem<T>& problem, const Derivative* first, const double* columns,
                      std::int64_t count, double* scale = nullptr);

}  // namespace tutti::learn
