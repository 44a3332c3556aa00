// Interior points for the hinge loss on few columns.
//
// The fit is a quadratic program: minimise l2 / 2 |w|^2 + sum of weight * excess, where for every
// row excess >= 0 and slack = label * margin - 1 + excess >= 0. A row's dual variable lies between
// 0 and its weight. Every product of a bound's slack with its dual variable is held at about the
// same number, which goes to 0. A step solves the linear equations of that, which come down to one
// system of the columns' size: l2 and the rows' Gram matrix with one positive weight each. How
// columns are scaled does not matter, and about 20 steps are enough, each of two passes over the
// rows.
//
// Why it is not replaced by sdca: 100,000 rows of 28 columns to a relative gap of 1e-4 take 45 steps
// and 0.64 s of one CPU. sdca stops after 1000 epochs (3.2 s) at a gap of 3.5e-3. With columns whose
// scales span 0.01 to 100 it is 0.50 s against 4.0 s and a gap of 0.99.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// The hinge loss, l2 > 0, no l1; rows in memory.
template <class T>
Solution solve_interior_point(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
