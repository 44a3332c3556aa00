// Design matrix: the rows of a data set with the products that solvers need, on all threads.
//
// Rows are divided into blocks of kBlockRows. Sums over rows are accumulated in `parts` that depend only on the data,
// then added in the order of the parts, so results are bitwise identical for any number of threads. A stage of a fit
// can select a subset of the blocks (`select`, `select_residents`, `select_others`).
// With a communicator each rank has different rows. Every sum over rows is a sum over the rows of all ranks, and all
// ranks must make the same calls. With a stream the rows come from a file, chunk by chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/matrix.h"
#include "tutti/learn/data/row_stream.h"

namespace tutti::learn {

inline constexpr std::int64_t kBlockRows = 256;
// Each part has separate sums, and every chunk of a stream is divided among the parts.
inline constexpr std::int64_t kMaxPartsOfStream = 8;

// T is the type of computation, that of the matrix: float or double.
template <class T>
class DesignMatrix {
 public:
  // `threads` and `ranks` (null: single process) must outlive the object.
  static std::unique_ptr<DesignMatrix> create(const Matrix& matrix, Threads& threads,
                                              comm::Communicator* ranks = nullptr);
  // The rows of a file; with ranks, the rows of this rank. `stream` must outlive the object.
  static std::unique_ptr<DesignMatrix> create(RowStream& stream, Threads& threads,
                                              comm::Communicator* ranks = nullptr);
  virtual ~DesignMatrix() = default;

  std::int64_t rows() const { return rows_; }
  // Columns of the design. Empty columns of a sparse matrix are dropped and frequent ones come first: column j is
  // column original(j) of the matrix.
  std::int64_t columns() const { return columns_; }
  std::int64_t all_columns() const { return all_columns_; }  // columns of the matrix
  virtual std::int64_t original(std::int64_t column) const { return column; }
  virtual bool is_sparse() const = 0;
  Threads& threads() const { return threads_; }
  // Number of rows on all ranks.
  std::int64_t total_rows() const { return total_rows_; }
  comm::Communicator* ranks() const { return ranks_; }

  // Selects every `stride`-th block. For passes over the data of a stream: every `stride`-th block of each resident
  // chunk.
  void select(std::int64_t stride);
  std::int64_t stride() const { return stride_; }
  // Selects the resident chunks: a sample that needs no I/O. Streams only.
  void select_residents();
  // Selects the non-resident chunks in the `part`-th of `parts` ranges of the file, possibly none. Streams only.
  void select_others(std::int64_t part, std::int64_t parts);
  // Fraction of all rows that is selected.
  double selected_fraction() const { return selected_fraction_; }
  using BlockBody = std::function<void(std::int64_t part, std::int64_t begin, std::int64_t end)>;
  // Calls body(part, begin, end) for each selected block of rows, in order within a part. For per-row arrays: the rows
  // themselves may not be in memory.
  void for_blocks(const BlockBody& body) const;
  // The same with the rows in memory.
  void for_data_blocks(const BlockBody& body) const;
  // Calls body(begin, end) for consecutive ranges of rows that are in memory together: all rows, or chunk by chunk.
  void for_ranges(const std::function<void(std::int64_t begin, std::int64_t end)>& body) const;
  bool is_streamed() const { return stream_ != nullptr; }
  std::int64_t parts() const { return parts_; }
  // Returns the sum of `body(begin, end)` over the selected blocks.
  double sum_blocks(const std::function<double(std::int64_t, std::int64_t)>& body) const;

  // products[r] = row r . vector + constant
  virtual void multiply(const T* vector, T constant, T* products) const = 0;
  // target[j] = sum over r of factors[r] * x_rj
  virtual void transpose_multiply(const T* factors, T* target) = 0;
  // gradient = transpose_multiply(first); diagonal[j] = sum over r of second[r] * x_rj^2
  virtual void gradient_and_diagonal(const T* first, const T* second, T* gradient, T* diagonal) = 0;
  // In one pass: products as in multiply; fill(begin, end) computes `first` and `second` of these rows from them; then
  // gradient and diagonal as above.
  using FillBody = std::function<void(std::int64_t begin, std::int64_t end)>;
  virtual void multiply_and_gradient(const T* vector, T constant, const FillBody& fill, T* products,
                                     const T* first, const T* second, T* gradient, T* diagonal) = 0;
  // In one pass: products as in multiply, then target = transpose_multiply(curvature * products). Returns the sum of
  // curvature * products.
  virtual double curvature_multiply(const T* vector, T constant, const T* curvature, T* products,
                                    T* target) = 0;
  // Sums curvature[r] * z z^T over every `stride`-th block, where z is the first `block` columns of row r followed by
  // 1. `gram` is (block + 1) x (block + 1), both triangles.
  virtual void block_gram(const T* curvature, std::int64_t block, std::int64_t stride,
                          std::vector<double>& gram) = 0;

 protected:
  DesignMatrix(std::int64_t rows, std::int64_t columns, std::int64_t parts, Threads& threads,
               comm::Communicator* ranks, RowStream* stream = nullptr);
  // Called before the blocks of a chunk are processed; its first row is row `first` of the design.
  virtual void show(const Matrix& rows, std::int64_t first) const = 0;
  // target[j] = sum over parts, in f64
  void add_parts(const std::vector<std::vector<T>>& parts, std::int64_t count, T* target) const;
  template <class Value>
  void sum_over_ranks(Value* values, std::int64_t count) const {
    if (ranks_ != nullptr) ranks_->all_reduce({values, count, DTypeOf<Value>::value});
  }

  std::int64_t rows_, columns_, all_columns_, parts_, stride_ = 1, total_rows_;
  enum class Chunks : std::uint8_t { kAll, kResidents, kOthers };
  void select_chunks(Chunks which, std::int64_t begin, std::int64_t end);
  std::vector<std::int64_t> selected_chunks() const;

  double selected_fraction_ = 1;
  Chunks chunks_ = Chunks::kAll;  // selected chunks of [begin_chunk_, end_chunk_)
  std::int64_t begin_chunk_ = 0, end_chunk_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks_;  // selected blocks, unless all are
  Threads& threads_;
  comm::Communicator* ranks_;
  RowStream* stream_;
};

}  // namespace tutti::learn
