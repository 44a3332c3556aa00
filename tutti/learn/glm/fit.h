// Entry point of the linear models (generalised linear models with l1 and l2 penalties).
#pragma once

#include <span>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/glm/margins.h"
#include "tutti/learn/glm/problem/options.h"

namespace tutti::learn {

// Fits one model. Classification losses need labels of -1 and 1. `weights` has one value >= 0 per row, or is empty.
// Computes in the type of the matrix: f32 data is not converted to f64. Bitwise identical for any number of threads.
// Throws ConfigError for inconsistent sizes, invalid labels, weights or options, and values that are not finite.
GlmModel fit(const Matrix& features, std::span<const double> labels,
             std::span<const double> weights, const GlmOptions& options);

// Returns the solver that kAuto selects for this matrix.
Solver choose_solver(const Matrix& features, const GlmOptions& options);

}  // namespace tutti::learn
