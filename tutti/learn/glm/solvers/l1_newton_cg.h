// Orthant-wise Newton-CG solver for l1 penalties. It needs only products of the rows with vectors, so the rows may be
// distributed over ranks or streamed from a file. (The working-set solver needs columns.)
//
// Each iteration
// 1. computes loss and gradient in one pass, and certifies the gap with a dual point;
// 2. selects the free weights: nonzero ones, and those zero ones with |gradient| > l1 that promise the largest gain;
// 3. computes the Newton step of the free weights by conjugate gradients; on one side of 0 the penalty is linear;
// 4. performs a line search in which a weight that would cross 0 becomes 0.
// Once the support is identified, this is Newton's method on it.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// For smooth losses with l1 > 0, without an intercept or with an unpenalised one.
template <class T>
Solution solve_l1_newton_cg(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
