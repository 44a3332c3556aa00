#include "tutti/learn/glm/linalg/cholesky.h"

#include <algorithm>
#include <cmath>

#include "tutti/learn/base/vector_kernels.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kBlock = 48;
constexpr double kSmallestPivot = 1e-13;  // for a matrix with unit diagonal
constexpr double kNoPivot = 1e150;

}  // namespace

// Blocked factorisation, a block of columns at a time: subtract the contribution of the preceding columns, factor the
// diagonal block, then compute the rows below it. The rows are independent, so threads share them.
Cholesky::Cholesky(std::vector<double> matrix, std::int64_t size, Threads& threads)
    : size_(size), lower_(std::move(matrix)), scale_(size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const double diagonal = lower_[i * size + i];
    scale_[i] = diagonal > 0 ? 1 / std::sqrt(diagonal) : 0;
  }
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t j = 0; j <= i; ++j) lower_[i * size + j] *= scale_[i] * scale_[j];
  for (std::int64_t begin = 0; begin < size; begin += kBlock) {
    const std::int64_t end = std::min(size, begin + kBlock);
    threads.for_range(size - begin, 32, [&](std::int64_t first, std::int64_t last) {
      double products[kBlock];
      for (std::int64_t i = begin + first; i < begin + last; ++i) {
        double* row = lower_.data() + i * size;
        const std::int64_t count = std::min(end, i + 1) - begin;
        multiply_rows(lower_.data() + begin * size, size, count, begin, row, 0.0, products);
        for (std::int64_t j = 0; j < count; ++j) row[begin + j] -= products[j];
      }
    });
    factor_block(begin, end);
    threads.for_range(size - end, 32, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = end + first; i < end + last; ++i) {
        double* row = lower_.data() + i * size;
        for (std::int64_t j = begin; j < end; ++j) {
          const double* other = lower_.data() + j * size;
          row[j] = (row[j] - dot(row + begin, other + begin, j - begin)) / other[j];
        }
      }
    });
  }
}

void Cholesky::factor_block(std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    double* row = lower_.data() + i * size_;
    for (std::int64_t j = begin; j <= i; ++j) {
      const double* other = lower_.data() + j * size_;
      const double rest = row[j] - dot(row + begin, other + begin, j - begin);
      if (j < i) {
        row[j] = rest / other[j];
      } else {
        // A huge pivot sets the solution to 0 in a direction of the null space.
        row[i] = rest > kSmallestPivot ? std::sqrt(rest) : kNoPivot;
      }
    }
  }
}

void Cholesky::set_diagonal(const std::vector<double>& diagonal) {
  for (std::int64_t i = 0; i < size_; ++i)
    scale_[i] = diagonal[i] > 0 ? 1 / std::sqrt(diagonal[i]) : 0;
}

void Cholesky::solve(double* x) const {
  solve_factor(x);
  solve_transposed_factor(x);
}

void Cholesky::solve_factor(double* x) const {
  for (std::int64_t i = 0; i < size_; ++i) {
    const double* row = lower_.data() + i * size_;
    x[i] = (x[i] * scale_[i] - dot(row, x, i)) / row[i];
  }
}

void Cholesky::solve_transposed_factor(double* x) const {
  for (std::int64_t i = size_ - 1; i >= 0; --i) {
    const double* row = lower_.data() + i * size_;
    x[i] /= row[i];
    add_scaled(-x[i], row, i, x);
  }
  for (std::int64_t i = 0; i < size_; ++i) x[i] *= scale_[i];
}

std::vector<double> Cholesky::factor() const {
  std::vector<double> factor(size_ * size_);
  for (std::int64_t i = 0; i < size_; ++i) {
    if (!(scale_[i] > 0)) continue;
    const double unscale = 1 / scale_[i];
    for (std::int64_t j = 0; j <= i; ++j)
      if (lower_[j * size_ + j] < kNoPivot) factor[i * size_ + j] = lower_[i * size_ + j] * unscale;
  }
  return factor;
}

}  // namespace tutti::learn
