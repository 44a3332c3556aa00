// Newton's method with products of the Hessian only: for smooth losses with an l2 penalty, any
// number of columns.
//
// Each iteration minimises the quadratic model at the current point by conjugate gradients, one
// pass over the data per step, and goes there with a line search that needs no pass, because the
// products of the direction with all rows are known. First iterations look at a sample of the rows.
//
// Of a dense file that is larger than memory the quadratic model has the Hessian of the rows that
// stay in memory, if these are enough, and every iteration reads the file once.
//
// The gap is certified by a point of the dual problem: the derivatives of the losses at the minimum
// of the quadratic model, which costs no pass either.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

template <class T>
Solution solve_newton_cg(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
