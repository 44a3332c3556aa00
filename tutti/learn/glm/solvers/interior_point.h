// Primal-dual interior-point method for the hinge loss and few columns.
//
// The fit is a quadratic program: minimise l2 / 2 |w|^2 + sum of weight * excess subject to excess >= 0 and slack =
// label * margin - 1 + excess >= 0 for every row. The dual variable of a row is between 0 and its weight.
// Each iteration
// 1. computes the objective and the duality gap exactly, and stops if the gap is small enough;
// 2. sets the target of all complementarity products (slack * dual, excess * (weight - dual)), which decreases to 0;
// 3. solves the linearised equations, which reduce to one system with a row and column per feature: l2 plus the
//    weighted Gram matrix of the rows, factored by Cholesky;
// 4. takes kStepToBoundary of the largest step that keeps all variables positive.
// An iteration takes two passes over the rows. The number of iterations hardly depends on the scaling of the columns,
// in contrast to SDCA (docs/measurements/learn-linear.md).
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// For the hinge loss with l2 > 0 and no l1, and rows in memory.
template <class T>
Solution solve_interior_point(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
