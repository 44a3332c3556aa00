// The door of the linear models.
#pragma once

#include <span>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/glm/problem/options.h"

namespace tutti::learn {

// Fits one model. Labels are -1 and 1 for losses that classify; `weights` has one number >= 0 per
// row or is empty. Computes in the type of the matrix: f32 data is never copied to f64. The same
// bits for any number of threads. Throws ConfigError when sizes, labels, weights or options do not
// fit, or a value is not finite.
GlmModel fit(const Matrix& features, std::span<const double> labels,
             std::span<const double> weights, const GlmOptions& options);

// Which solver kAuto means for this matrix.
Solver choose_solver(const Matrix& features, const GlmOptions& options);

// margins[r] = row r . coefficients + intercept, in f64.
std::vector<double> margins_of(const Matrix& features, std::span<const double> coefficients,
                               double intercept, int threads = 0);

}  // namespace tutti::learn
