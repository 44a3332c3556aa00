// Multinomial logistic regression with an l1 and optionally an l2 penalty.
//
// Orthant-wise Newton method. Each iteration
// 1. selects the free weights: nonzero ones, and zero ones whose derivative of the loss exceeds l1;
// 2. computes the Newton step of the free weights by conjugate gradients (L1Step); each weight keeps its sign, and a
//    weight that would cross 0 stops there;
// 3. shifts the weights of each column by a constant over all classes to minimise its penalty. The probabilities do not
//    change, so this needs no pass;
// 4. certifies the gap with a dual point: the derivatives of the rows, scaled until no column sum exceeds l1.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

template <class T>
MultinomialModel solve_l1_multinomial(DesignMatrix<T>& design,
                                      std::span<const std::int32_t> classes, int count,
                                      std::span<const double> weights, const GlmOptions& options,
                                      Tracker& tracker);

// Returns the c that minimises sum over i of l1 * |values[i] - c| + l2 / 2 * (values[i] - c)^2; of several, the one
// nearest to 0. Reorders the values.
double least_shift(std::span<double> values, double l1, double l2);

}  // namespace tutti::learn
