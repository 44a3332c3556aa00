// Dense access to the columns of sparse rows that a model uses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn::tree {

// Numbers the columns that a model uses consecutively from 0; -1 for all others.
class UsedColumns {
 public:
  explicit UsedColumns(int columns) : index_(static_cast<std::size_t>(columns), -1) {}
  void add(std::uint32_t column) {
    if (index_[column] < 0) index_[column] = count_++;
  }
  std::int32_t count() const { return count_; }
  std::int32_t operator[](std::uint32_t column) const { return index_[column]; }

 private:
  std::vector<std::int32_t> index_;  // -1: unused
  std::int32_t count_ = 0;
};

// Dense copy of the used columns of a few rows of a kCsr matrix. move_to() selects the rows; its time is proportional
// to the number of their entries, whatever the number of columns. `matrix` and `used` must outlive this object. Not
// thread-safe.
template <class T>
class SparseRows {
 public:
  // At most `most_rows` rows at a time. `absent`: value of entries that are not stored.
  SparseRows(const Matrix& matrix, const UsedColumns& used, std::int64_t most_rows, T absent)
      : matrix_(matrix),
        used_(used),
        absent_(absent),
        values_(static_cast<std::size_t>(most_rows) * static_cast<std::size_t>(used.count()),
                absent) {}

  // Loads the rows [begin, end).
  void move_to(std::int64_t begin, std::int64_t end) {
    for_entries([this](std::int64_t, std::int64_t, T& value) { value = absent_; });
    begin_ = begin;
    end_ = end;
    for_entries([this](std::int64_t row, std::int64_t at, T& value) {
      value = matrix_.dtype == DType::kF32 ? static_cast<T>(value_at<float>(matrix_, row, at))
                                           : static_cast<T>(value_at<double>(matrix_, row, at));
    });
  }

  // Values of one row by column; only used columns may be read. Valid until the next move_to().
  struct Row {
    const T* values;
    const UsedColumns& used;
    T operator[](std::uint32_t column) const { return values[used[column]]; }
  };
  Row row(std::int64_t index) const {
    return {values_.data() + (index - begin_) * used_.count(), used_};
  }

 private:
  template <class Use>
  void for_entries(const Use& use) {
    for (std::int64_t row = begin_; row < end_; ++row)
      for (std::int64_t at = matrix_.offsets[row]; at < matrix_.offsets[row + 1]; ++at) {
        const std::int32_t index = used_[static_cast<std::uint32_t>(matrix_.indices[at])];
        if (index >= 0) use(row, at, values_[(row - begin_) * used_.count() + index]);
      }
  }

  const Matrix& matrix_;
  const UsedColumns& used_;
  T absent_;
  std::vector<T> values_;
  std::int64_t begin_ = 0, end_ = 0;
};

}  // namespace tutti::learn::tree
