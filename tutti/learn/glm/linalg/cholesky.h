// Cholesky factorisation of symmetric positive (semi-)definite matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/base/threads.h"

namespace tutti::learn {

class Cholesky {
 public:
  // `matrix` is size x size; only its lower triangle is read. In directions of the numerical null space (duplicate or
  // constant columns without a penalty) all solutions are 0.
  Cholesky(std::vector<double> matrix, std::int64_t size, Threads& threads);

  // Replaces the diagonal of the matrix; the correlations stay the same.
  void set_diagonal(const std::vector<double>& diagonal);

  // x = matrix^-1 x, in place.
  void solve(double* x) const;

  // Returns the factor L with L * L^T = matrix: size x size, row-major, 0 above the diagonal. Its columns in directions
  // of the numerical null space are 0.
  std::vector<double> factor() const;
  // x = L^-1 x and x = L^-T x, in place. In directions of the null space the result is 0.
  void solve_factor(double* x) const;
  void solve_transposed_factor(double* x) const;

 private:
  void factor_block(std::int64_t begin, std::int64_t end);

  std::int64_t size_;
  std::vector<double> lower_;  // row-major
  std::vector<double> scale_;  // scales the matrix to unit diagonal
};

}  // namespace tutti::learn
