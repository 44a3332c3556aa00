// Working-set solver for l1-penalised problems with many sparse columns.
//
// Each outer iteration
// 1. computes the gradient of all remaining columns, a feasible dual point and the duality gap;
// 2. permanently discards columns that the gap proves to be zero at the optimum (Gap Safe screening; only for losses
//    with a Lipschitz-continuous gradient);
// 3. forms the working set: the support, plus the zero columns with the largest |gradient| above l1. It grows in
//    proportion to the support;
// 4. minimises the objective on it with a proximal Newton method whose quadratic subproblem is solved by coordinate
//    descent.
// The products of all rows with the Newton step are cached, so the line search needs no pass over the data.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// `problem.design` is used only for per-row operations; `columns` is the CSC feature matrix.
template <class T>
Solution solve_working_set(Problem<T>& problem, const Matrix& columns, Tracker& tracker);

}  // namespace tutti::learn
