// Newton's method with the full Hessian, for smooth losses and few dense columns.
//
// Each iteration makes one pass over the data that computes objective, gradient and Hessian together: a block of rows
// is copied to a padded tile, which stays in the cache while its margins, derivatives and Gram matrix are computed. The
// step solves a linear system by Cholesky, or with l1 a small quadratic problem by coordinate descent. The gap is
// bounded by strong convexity (l2) or a dual point (l1).
// The first iterations use a sample of the rows; two or three passes over all rows then suffice. In f32, the last steps
// accumulate in f64 (f64_accumulation.h).
#pragma once

#include "tutti/learn/glm/design/dense_design.h"
#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

inline constexpr std::int64_t kMaxColumnsForNewton = 512;

// `problem.design` must be a DenseDesign.
template <class T>
Solution solve_newton(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
