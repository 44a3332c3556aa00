// Newton's method with the whole Hessian, for smooth losses and few dense columns.
//
// One pass over the data gives objective, gradient and Hessian together: a block of rows is put
// into a padded tile that stays in the cache while margins, derivatives and the Gram matrix are
// made of it. First iterations look at a sample of the rows; two or three passes over all of them
// are then enough.
#pragma once

#include "tutti/learn/glm/design/dense_design.h"
#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

inline constexpr std::int64_t kMostColumnsForNewton = 512;

// The design must be a DenseDesign.
template <class T>
Solution solve_newton(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
