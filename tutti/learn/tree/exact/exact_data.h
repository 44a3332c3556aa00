// Matrix for exact splits: each value is replaced by its index (code) among the distinct values of its column, so nodes
// are split by comparing integers for any type of the data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn {
class Threads;
}

namespace tutti::learn::tree {

// Takes 4 bytes per value, and stores each distinct value of a column once in its original type.
class ExactData {
 public:
  static constexpr std::uint32_t kMissing = 0xffffffffu;  // code of NaN
  struct Entry {
    std::int32_t column;
    std::uint32_t code;
  };

  ExactData(const Matrix& matrix, Threads& threads);

  std::int64_t rows() const { return rows_; }
  int columns() const { return columns_; }
  bool is_sparse() const { return is_sparse_; }
  // Dense: codes of a column, by row.
  const std::uint32_t* column(int index) const {
    return codes_.data() + static_cast<std::size_t>(index) * static_cast<std::size_t>(rows_);
  }
  // Sparse: stored entries of a row, columns ascending; all other columns have the code zero(column).
  std::span<const Entry> row(std::uint32_t index) const {
    return {entries_.data() + offsets_[index], entries_.data() + offsets_[index + 1]};
  }
  std::uint32_t zero(int column) const { return zeros_[column]; }
  // Dense and sparse.
  std::uint32_t code(std::uint32_t row_index, int column_index) const;

  double value(int column, std::uint32_t code) const;
  // Returns a threshold t that separates two values of a column, low <= t < high, in the type of the data: the
  // midpoint, or the number nearest to `wanted`.
  double threshold(int column, std::uint32_t low, std::uint32_t high) const;
  double threshold(int column, std::uint32_t low, std::uint32_t high, double wanted) const;

 private:
  template <class T>
  void take_dense(const Matrix& matrix, Threads& threads);
  template <class T>
  void take_sparse(const Matrix& by_columns, Threads& threads);
  template <class T>
  std::vector<std::vector<T>>& distinct();

  std::int64_t rows_;
  int columns_;
  bool is_sparse_, is_f32_;
  std::vector<std::uint32_t> codes_;
  std::vector<std::size_t> offsets_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> zeros_;
  std::vector<std::vector<float>> values_f32_;
  std::vector<std::vector<double>> values_f64_;
};

}  // namespace tutti::learn::tree
