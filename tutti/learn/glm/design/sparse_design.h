// Design matrix with CSR rows. Frequent columns come first, so the part of a vector that they access is contiguous and
// stays in the cache; in hashed data they are scattered.
#pragma once

#include "tutti/learn/base/vector_kernels.h"
#include "tutti/learn/glm/design/design.h"

namespace tutti::learn {

template <class T>
class SparseDesign final : public DesignMatrix<T> {
 public:
  // See DesignMatrix::create. `by_rows` is kCsr; the object shares its memory.
  SparseDesign(Matrix by_rows, Threads& threads, comm::Communicator* ranks);
  SparseDesign(RowStream& stream, Threads& threads, comm::Communicator* ranks);
  bool is_sparse() const override { return true; }
  std::int64_t original(std::int64_t column) const override {
    return order_.empty() ? column : order_[column];
  }
  const SparseRows<T>& rows_view() const { return view_; }

  void multiply(const T* vector, T constant, T* products) const override;
  void transpose_multiply(const T* factors, T* target) override;
  void gradient_and_diagonal(const T* first, const T* second, T* gradient, T* diagonal) override;
  using FillBody = typename DesignMatrix<T>::FillBody;
  void multiply_and_gradient(const T* vector, T constant, const FillBody& fill, T* products,
                             const T* first, const T* second, T* gradient, T* diagonal) override;
  double curvature_multiply(const T* vector, T constant, const T* curvature, T* products,
                            T* target) override;
  void block_gram(const T* curvature, std::int64_t block, std::int64_t stride,
                  std::vector<double>& gram) override;

 private:
  void show(const Matrix& rows, std::int64_t first) const override;
  void reorder();
  std::vector<std::int32_t> count_columns() const;
  // Calls `body(begin, end, sums)` for the selected blocks, where it adds to `width` values per column, and writes the
  // sums over all parts to `target`.
  void sum_scattered(std::int64_t width,
                     const std::function<void(std::int64_t, std::int64_t, T*)>& body, T* target);

  // The same with two values per column, written to two arrays.
  void sum_pairs(const std::function<void(std::int64_t, std::int64_t, T*)>& body, T* evens,
                 T* odds);

  Matrix matrix_;
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> new_index_;        // streams: inverse of order_
  std::unique_ptr<std::int32_t[]> indices_;    // column indices in the new order
  mutable SparseRows<T> view_;                 // all rows, or the current chunk
  std::vector<std::vector<T>> sums_;           // per part, reused by all calls
  std::vector<std::vector<double>> frequent_;  // per part: f64 sums of the most frequent columns
};

}  // namespace tutti::learn
