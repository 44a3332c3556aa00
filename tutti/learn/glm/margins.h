// Margins of the rows of a matrix under a linear model.
#pragma once

#include <span>
#include <vector>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn {

// margins[r] = row r . coefficients + intercept, in f64.
std::vector<double> margins_of(const Matrix& features, std::span<const double> coefficients,
                               double intercept, int threads = 0);

}  // namespace tutti::learn
