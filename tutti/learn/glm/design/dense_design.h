// Design matrix with dense rows. A block of rows stays in the cache for all operations on it.
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
  // for_data_blocks with a pointer to row `begin`. Threads process the chunks of a stream without a barrier, so `row`
  // must not be called meanwhile.
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
  using FirstBody = std::function<void(std::int64_t begin, std::int64_t end, T* first)>;
  // Evaluates a step in one pass. Computes products as in multiply, then curved = transpose_multiply(curvature *
  // products). fill(begin, end, first) writes `first` from the products of these rows; gradient =
  // transpose_multiply(first). If it is not null, curvature_columns = transpose_multiply(curvature). Returns the sum of
  // curvature * products.
  double step(const T* vector, T constant, const T* curvature, const FirstBody& fill, T* products,
              T* curved, T* gradient, T* curvature_columns);
  void block_gram(const T* curvature, std::int64_t block, std::int64_t stride,
                  std::vector<double>& gram) override;

 private:
  void narrow_gram(const T* curvature, std::int64_t columns, std::vector<double>& gram);

  // A block of rows; `rows` points to the first one.
  struct Block {
    std::int64_t begin, end;
    const T* rows;
  };
  // Returns at most kAtOnce rows of the block, from `begin` on.
  Block sub_block(const Block& block, std::int64_t begin) const;
  // body(block, sums) adds to `count` sums of type T; they are summed in f64 over blocks, part by part.
  void sum_vectors(std::int64_t count, const std::function<void(const Block&, T*)>& body,
                   double* target);
  void add_gradient(const Block& block, const T* first, const T* second, T* sums) const;

  void show(const Matrix& rows, std::int64_t first) const override;

  Matrix matrix_;
  mutable const T* values_ = nullptr;  // row `first_`: 0, or the first row of the current chunk
  mutable std::int64_t first_ = 0;
  std::int64_t stride_of_rows_;
};

}  // namespace tutti::learn
