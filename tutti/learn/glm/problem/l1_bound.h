// Dual values for problems with an l1 penalty.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// A lower bound of the optimum from the derivatives `first` of the losses, whose sums over columns,
// without the penalty's part, are `columns` (count of them). A free intercept must be at its best,
// so that they sum to 0; a penalised one is the last column, and not spared by l1. Without l2 the
// derivatives are first scaled down until no column's sum is above l1; `scale`, if not null,
// receives by how much.
template <class T, class Derivative>
double l1_lower_bound(const Problem<T>& problem, const Derivative* first, const double* columns,
                      std::int64_t count, double* scale = nullptr);

}  // namespace tutti::learn
