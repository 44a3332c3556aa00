// Logistic regression with several classes at once: the probabilities of a row are the softmax of
// its margins, one per class.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/glm/problem/options.h"

namespace tutti::learn {

// Minimises  sum over rows of weight * -log(probability of its class)  +  l2 / 2 * |W|^2  +
// l1 * |W|_1  by Newton's method with conjugate gradients. `classes` are 0 .. count - 1. Of the
// options it takes l1, l2, fit_intercept (free), tolerance, max_iterations, the start, threads,
// ranks and on_progress. Throws ConfigError as fit does. Without l1 the gap is that of the weights
// with the intercepts as good as they are.
MultinomialModel fit_multinomial(const Matrix& features, std::span<const std::int32_t> classes,
                                 int count, std::span<const double> weights,
                                 const GlmOptions& options);

}  // namespace tutti::learn
