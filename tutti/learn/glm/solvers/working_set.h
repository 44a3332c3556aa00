// Coordinate descent on the columns that matter, for an l1 penalty and many columns.
//
// An outer iteration makes the gradient of all columns, a dual point and with it the gap. Columns
// that the gap proves to have no weight are dropped for good; those with weight, and those that
// want it most, make the working set. On it the objective is minimised by Newton's method, whose
// quadratic model is minimised by coordinate descent; products of rows with the step are kept, so a
// line search needs no pass. The set doubles with the support.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// The problem's design needs rows only; `columns` has the features in sparse columns.
template <class T>
Solution solve_working_set(Problem<T>& problem, const Matrix& columns, Tracker& tracker);

}  // namespace tutti::learn
