// Newton-CG: Newton's method with Hessian-vector products, for smooth losses with an l2 penalty and any number of
// columns.
//
// Each iteration
// 1. minimises the quadratic model of the objective by preconditioned conjugate gradients, with one pass over the data
//    per CG step;
// 2. performs a backtracking line search without a pass, because the products of the direction with all rows are
//    cached;
// 3. bounds the gap with a dual point: the derivatives of the losses at the minimum of the quadratic model. This needs
//    no pass either.
// The first iterations use a sample of the rows. For a dense file that is larger than memory, the Hessian is that of
// the resident rows if there are enough of them, and each iteration reads the file once (newton_cg_stream.h).
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

template <class T>
Solution solve_newton_cg(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
