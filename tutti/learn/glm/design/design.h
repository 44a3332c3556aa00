// The rows of a data set as solvers use them: products with vectors, on all threads.
//
// Rows lie in blocks of kBlockRows. Sums over rows are made in `parts` that only the data decides,
// then in the order of the parts: the same bits for any number of threads. A stage of a fit may
// look at some blocks only (`select`, `select_residents`, `select_others`). With a communicator
// each rank has its own rows, and every sum over rows is one over the rows of all ranks, which must
// make the same calls. With a stream the rows come from a file, chunk by chunk.
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
// Parts have sums of their own, and of a stream every chunk is shared out among them.
inline constexpr std::int64_t kMostPartsOfStream = 8;

// T is what is computed in: float or double, the type of the matrix.
template <class T>
class DesignMatrix {
 public:
  // `threads` and `ranks` (null: only this process) must outlive it.
  static std::unique_ptr<DesignMatrix> create(const Matrix& matrix, Threads& threads,
                                              comm::Communicator* ranks = nullptr);
  // Rows of a file, with ranks those of this one; `stream` must outlive it, too.
  static std::unique_ptr<DesignMatrix> create(RowStream& stream, Threads& threads,
                                              comm::Communicator* ranks = nullptr);
  virtual ~DesignMatrix() = default;

  std::int64_t rows() const { return rows_; }
  // Of the design, which leaves out columns of a sparse matrix that are empty and puts frequent
  // ones first: column j is column original(j) of the matrix.
  std::int64_t columns() const { return columns_; }
  std::int64_t all_columns() const { return all_columns_; }  // of the matrix
  virtual std::int64_t original(std::int64_t column) const { return column; }
  virtual bool is_sparse() const = 0;
  Threads& threads() const { return threads_; }
  // Of all ranks.
  std::int64_t total_rows() const { return total_rows_; }
  comm::Communicator* ranks() const { return ranks_; }

  // From now on only every `stride`-th block counts; where the rows of a stream are looked at,
  // every `stride`-th one of each chunk that stays in memory.
  void select(std::int64_t stride);
  std::int64_t stride() const { return stride_; }
  // From now on only the chunks that stay in memory count: a sample that costs no reading. Streams
  // only.
  void select_residents();
  // From now on only chunks that do not stay in memory count, of the `part`-th of `parts` stretches
  // of the file, which may have none. Streams only.
  void select_others(std::int64_t part, std::int64_t parts);
  // Of all rows, those that count.
  double share() const { return share_; }
  using BlockBody = std::function<void(std::int64_t part, std::int64_t begin, std::int64_t end)>;
  // Calls body(part, begin, end) for each selected block of rows; blocks of one part in order. The
  // rows themselves need not be there: for what is kept per row.
  void for_blocks(const BlockBody& body) const;
  // The same where the rows themselves are looked at.
  void for_data_blocks(const BlockBody& body) const;
  // Calls body(begin, end) for ranges of rows that can be looked at together, in order: all at
  // once, or chunk by chunk.
  void for_ranges(const std::function<void(std::int64_t begin, std::int64_t end)>& body) const;
  bool is_streamed() const { return stream_ != nullptr; }
  std::int64_t parts() const { return parts_; }
  // Sum over the selected blocks of what `body(begin, end)` gives.
  double sum_blocks(const std::function<double(std::int64_t, std::int64_t)>& body) const;

  // products[r] = row r . vector + constant
  virtual void multiply(const T* vector, T constant, T* products) const = 0;
  // target[j] = sum over r of factors[r] * x_rj
  virtual void transpose_multiply(const T* factors, T* target) = 0;
  // gradient as transpose_multiply of `first`; diagonal[j] = sum over r of second[r] * x_rj^2
  virtual void gradient_and_diagonal(const T* first, const T* second, T* gradient, T* diagonal) = 0;
  // products as in multiply, then fill(begin, end), which makes `first` and `second` of these rows
  // from them, then gradient and diagonal as above, in one pass.
  using FillBody = std::function<void(std::int64_t begin, std::int64_t end)>;
  virtual void multiply_and_gradient(const T* vector, T constant, const FillBody& fill, T* products,
                                     const T* first, const T* second, T* gradient, T* diagonal) = 0;
  // products as in multiply, then target = transpose_multiply(curvature * products), in one pass;
  // returns the sum of curvature * products.
  virtual double curvature_multiply(const T* vector, T constant, const T* curvature, T* products,
                                    T* target) = 0;
  // Sum over every `stride`-th block of curvature[r] * z z^T, where z has the first `block` columns
  // of row r and then 1; gram is (block + 1) x (block + 1), both triangles.
  virtual void block_gram(const T* curvature, std::int64_t block, std::int64_t stride,
                          std::vector<double>& gram) = 0;

 protected:
  DesignMatrix(std::int64_t rows, std::int64_t columns, std::int64_t parts, Threads& threads,
               comm::Communicator* ranks, RowStream* stream = nullptr);
  // Before blocks of a chunk are looked at: its first row is row `first` of the design.
  virtual void show(const Matrix& rows, std::int64_t first) const = 0;
  // target[j] = sum over parts of theirs, in f64.
  void add_parts(const std::vector<std::vector<T>>& parts, std::int64_t count, T* target) const;
  template <class Value>
  void sum_over_ranks(Value* values, std::int64_t count) const {
    if (ranks_ != nullptr) ranks_->all_reduce({values, count, DTypeOf<Value>::value});
  }

  std::int64_t rows_, columns_, all_columns_, parts_, stride_ = 1, total_rows_;
  enum class Chunks : std::uint8_t { kAll, kResidents, kOthers };
  void select_chunks(Chunks which, std::int64_t begin, std::int64_t end);
  std::vector<std::int64_t> selected_chunks() const;

  double share_ = 1;
  Chunks chunks_ = Chunks::kAll;  // which count, of [begin_chunk_, end_chunk_)
  std::int64_t begin_chunk_ = 0, end_chunk_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks_;  // of these, unless all count
  Threads& threads_;
  comm::Communicator* ranks_;
  RowStream* stream_;
};

}  // namespace tutti::learn
