// Several classes at once with an l1 penalty, with l2 beside it or not.
//
// Newton's method on the weights that are free: those that are not 0, and those whose slope is
// above l1. Each keeps to its side of 0, conjugate gradients find the step, and a weight that would
// cross 0 stops there. What is added to the weights of one column in all classes changes no
// probability; so each column is moved to where its penalty is least, which costs no pass. The gap
// is certified by a dual point: the derivatives of the rows, scaled down until no slope is above
// l1.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

template <class T>
MultinomialModel solve_l1_multinomial(DesignMatrix<T>& design,
                                      std::span<const std::int32_t> classes, int count,
                                      std::span<const double> weights, const GlmOptions& options,
                                      Tracker& tracker);

// The c for which  sum over i of l1 * |values[i] - c| + l2 / 2 * (values[i] - c)^2  is least;
// where there are several, the one nearest to 0. Reorders the values.
double least_shift(std::span<double> values, double l1, double l2);

}  // namespace tutti::learn
