// Dense rows. A block of rows stays in the cache for all that is done with it.
#pragma once

#include "tutti/learn/glm/design/design.h"

namespace tutti::learn {

template <class T>
class DenseDesign final : public DesignMatrix<T> {
 public:
  DenseDesign(Matrix row_major, Threads& threads, comm::Communicator* ranks);
  DenseDesign(RowStream& stream, Threads& threads, comm::Communicator* ranks);
  bool is_sparse() const override { return false; }
  const T* row(std::int64_t r) const { return values_ + (r - first_) * stride_of_rows_; }
  std::int64_t stride_of_rows() const { return stride_of_rows_; }
  // for_data_blocks with the place of row `begin`. Threads go through the chunks of a stream
  // without waiting for each other, so `row` tells nothing meanwhile.
  using RowsBody =
      std::function<void(std::int64_t part, std::int64_t begin, std::int64_t end, const T* rows)>;
  void for_row_blocks(const RowsBody& body) const;

  void multiply(const T* vector, T constant, T* products) const override;
  void transpose_multiply(const T* factors, T* target) override;
  void gradient_and_diagonal(const T* first, const T* second, T* gradient, T* diagonal) override;
  using FillBody = typename DesignMatrix<T>::FillBody;
  void multiply_and_gradient(const T* vector, T constant, const FillBody& fill, T* products,
                             const T* first, const T* second, T* gradient, T* diagonal) override;
  double curvature_multiply(const T* vector, T constant, const T* curvature, T* products,
                            T* target) override;
  // All that is to be known of a step, in one pass: products as in multiply, then curved =
  // transpose_multiply(curvature * products), gradient = transpose_multiply of what
  // fill(begin, end, first) writes to `first` from the products of these rows and, unless it is
  // null, curvature_columns = transpose_multiply(curvature). Returns the sum of curvature *
  // products.
  using FirstBody = std::function<void(std::int64_t begin, std::int64_t end, T* first)>;
  double step(const T* vector, T constant, const T* curvature, const FirstBody& fill, T* products,
              T* curved, T* gradient, T* curvature_columns);
  void block_gram(const T* curvature, std::int64_t block, std::int64_t stride,
                  std::vector<double>& gram) override;

 private:
  // A block of rows, the first of which lies at `rows`.
  struct Block {
    std::int64_t begin, end;
    const T* rows;
  };
  // Its rows from `begin` on, at most kAtOnce.
  Block sub_block(const Block& block, std::int64_t begin) const;
  // Sums in f64 per part what `body(block, sums)` adds in T to `count` values per block.
  void sum_vectors(std::int64_t count, const std::function<void(const Block&, T*)>& body,
                   double* target);
  void add_gradient(const Block& block, const T* first, const T* second, T* sums) const;

  void show(const Matrix& rows, std::int64_t first) const override;

  Matrix matrix_;
  mutable const T* values_ = nullptr;  // of row `first`: 0, or that of the chunk in use
  mutable std::int64_t first_ = 0;
  std::int64_t stride_of_rows_;
};

}  // namespace tutti::learn
