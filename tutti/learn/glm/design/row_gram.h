// Gram matrix of the rows of a matrix: all products of two rows.
#pragma once

#include <vector>

#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/matrix.h"

namespace tutti::learn {

// Returns the rows x rows matrix of products in f64, row-major. kCsc is converted to kCsr. Bitwise identical for any
// number of threads.
std::vector<double> row_gram(const Matrix& matrix, Threads& threads);

// Returns the sum over rows of factors[r] * row r in f64, one value per column. Not for kCsc.
std::vector<double> combine_rows(const Matrix& matrix, const double* factors, Threads& threads);

}  // namespace tutti::learn
