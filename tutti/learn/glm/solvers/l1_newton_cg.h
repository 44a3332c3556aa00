// l1 by products of the rows with vectors alone: for rows over ranks, and rows that come from a
// file, where no columns can be had.
//
// In every iteration a weight is free when it is not 0, or when the slope of the loss there is more
// than l1; of those at 0 only the most promising. On the side of 0 where a free weight is, or will
// go, the penalty is linear, so conjugate gradients give Newton's step; the line search takes a
// weight that would cross 0 to be 0. Once the weights that are not 0 are found, it is Newton's
// method on them.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// Smooth losses, l1 > 0; the intercept is free or there is none.
template <class T>
Solution solve_l1_newton_cg(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
