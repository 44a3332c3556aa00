// An approximate inverse of the Hessian: the frequent columns (all, when they are few) and the
// intercept as one dense block from a sample of rows, the others by their diagonal.
#pragma once

#include <memory>
#include <vector>

#include "tutti/learn/glm/design/design.h"
#include "tutti/learn/glm/linalg/cholesky.h"

namespace tutti::learn {

// Vectors have one value per column, then the intercept's, which is 0 where there is none.
template <class T>
class Preconditioner {
 public:
  explicit Preconditioner(DesignMatrix<T>& design);

  // How the columns of the block go together, from a sample of the selected rows. Costs as much as
  // some passes, and changes little: once for a fit is enough, the diagonal follows the weights.
  void correlate(const T* curvature);
  bool is_correlated() const { return cholesky_ != nullptr; }
  // Whether the block has all columns.
  bool is_whole() const { return block_ == design_.columns(); }
  // The exact diagonal of the Hessian, in every iteration. `intercept_diagonal` 0: there is none.
  void set_diagonal(const T* diagonal, double intercept_diagonal, double ridge);
  // target = inverse * source; returns their product.
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
