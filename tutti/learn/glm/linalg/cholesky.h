// Solves with a symmetric positive (semi-)definite matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/base/threads.h"

namespace tutti::learn {

class Cholesky {
 public:
  // `matrix` is size x size; its lower triangle counts. Directions in which it is 0 within rounding
  // (columns that are equal or constant, without a penalty) get 0 in every solution.
  Cholesky(std::vector<double> matrix, std::int64_t size, Threads& threads);

  // From now on the matrix has this diagonal, with the correlations it had.
  void set_diagonal(const std::vector<double>& diagonal);

  // x = matrix^-1 x, in place.
  void solve(double* x) const;

 private:
  void factor_block(std::int64_t begin, std::int64_t end);

  std::int64_t size_;
  std::vector<double> lower_;  // row by row
  std::vector<double> scale_;  // makes the diagonal 1 before factoring
};

}  // namespace tutti::learn
