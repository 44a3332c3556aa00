// Preconditioner of the Hessian: one dense block for the frequent columns (all, if there are few) and the intercept,
// estimated from a sample of rows; the diagonal for all other columns.
#pragma once

#include <memory>
#include <vector>

#include "tutti/learn/glm/design/design.h"
#include "tutti/learn/glm/linalg/cholesky.h"

namespace tutti::learn {

// Vectors have one value per column, then the intercept (0 if there is none).
template <class T>
class Preconditioner {
 public:
  explicit Preconditioner(DesignMatrix<T>& design);

  // Estimates the correlations of the block from a sample of the selected rows. This costs several passes, and the
  // result changes little, so it is done once per fit; set_diagonal() follows the weights.
  void correlate(const T* curvature);
  bool is_correlated() const { return cholesky_ != nullptr; }
  // Whether the block contains all columns.
  bool is_whole() const { return block_ == design_.columns(); }
  // Sets the exact diagonal of the Hessian, in every iteration. `intercept_diagonal` 0: no intercept.
  void set_diagonal(const T* diagonal, double intercept_diagonal, double ridge);
  // target = inverse * source; returns source . target.
  double apply(const T* source, T* target) const;

 private:
  std::int64_t sample_stride() const;

  DesignMatrix<T>& design_;
  std::int64_t block_;
  bool has_intercept_ = false;
  std::vector<T> inverse_diagonal_;
  std::unique_ptr<Cholesky> cholesky_;
  mutable std::vector<double> solution_;
};

}  // namespace tutti::learn
