// Common part of the multinomial fits, in memory and out-of-core; see solve.h.
#pragma once

#include <span>

#include "tutti/learn/glm/solvers/solve.h"

namespace tutti::learn {

// Throws ConfigError as documented for fit_multinomial.
void check_multinomial(const Shape& shape, std::span<const std::int32_t> classes, int count,
                       std::span<const double> weights, const GlmOptions& options);

template <class T>
MultinomialModel solve_multinomial(DesignMatrix<T>& design, std::span<const std::int32_t> classes,
                                   int count, std::span<const double> weights,
                                   const GlmOptions& options);

}  // namespace tutti::learn
