// Fits of few rows with many columns, in as many dimensions as there are rows.
//
// The optimal weights are a combination of the n rows: w = X^T a. With the Gram matrix of the rows K = X X^T = L L^T
// and z = L^T a, the margins X w are L z, and |w|^2 = a^T K a = |z|^2. So the problem in z has the same losses and
// penalty, and its rows are those of L: n rows with n columns instead of p. It is solved by Newton's method or, for the
// hinge loss, by the interior-point method, and w = X^T L^-T z.
//   1. K costs n^2 p / 2 multiplications, in f64 whatever the type of the data, and one pass over the data.
//   2. L costs n^3 / 6. Linearly dependent rows give columns of L that are 0.
//   3. Each step of the solver costs about n^3.
//   4. Two more passes: w from a, and the margins of w, with which the objective is computed.
// The lower bound of the objective in z is valid for w, so the gap is certified.
#pragma once

#include <span>

#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/matrix.h"
#include "tutti/learn/glm/problem/options.h"

namespace tutti::learn {

// `features` are checked, and not kCsc. Needs l2 > 0 and no l1.
GlmModel fit_dual(const Matrix& features, std::span<const double> labels,
                  std::span<const double> weights, const GlmOptions& options, Threads& threads);

}  // namespace tutti::learn
