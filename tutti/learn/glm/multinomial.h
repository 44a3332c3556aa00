// Multinomial logistic regression: the probabilities of a row are the softmax of its margins, one per class.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/glm/problem/options.h"

namespace tutti::learn {

// Minimises sum over rows of weight * -log(probability of its class) + l2 / 2 * |W|^2 + l1 * |W|_1 with Newton-CG.
// `classes` are 0 .. count - 1. Supported options: l1, l2, fit_intercept (unpenalised), tolerance, max_iterations,
// start values, threads, ranks and on_progress. Throws ConfigError as `fit` does. Without l1 the duality gap refers to
// the weights with the intercepts fixed.
MultinomialModel fit_multinomial(const Matrix& features, std::span<const std::int32_t> classes,
                                 int count, std::span<const double> weights,
                                 const GlmOptions& options);

}  // namespace tutti::learn
