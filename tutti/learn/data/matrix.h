// Numbers by rows and columns, as the learners read them.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "tutti/core/dtype.h"

namespace tutti::learn {

enum class Storage : std::uint8_t { kDense, kCsr, kCsc };

// What entries of a sparse matrix without `values` are: 1, or 1 over the root of the number of
// entries in their row (rows of hashed data, made to length 1). kUnitNorm needs kCsr.
enum class Implicit : std::uint8_t { kOne, kUnitNorm };

// A view: copying it copies pointers. `owner` holds the memory when somebody must, and is empty
// for memory of the caller. What is not there is 0, and only NaN is missing.
struct Matrix {
  Storage storage = Storage::kDense;
  DType dtype = DType::kF32;  // of the values: kF32 or kF64
  std::int64_t rows = 0, columns = 0;
  const void* values = nullptr;  // sparse: may be null, see `implicit`
  // kDense: the element of row r and column c is values[r * row_stride + c * column_stride].
  std::int64_t row_stride = 0, column_stride = 1;
  // Sparse: row r (or column, by the form) has the entries offsets[r] up to offsets[r + 1], with
  // their columns (rows) in `indices`, none of them twice.
  const std::int64_t* offsets = nullptr;
  const std::int32_t* indices = nullptr;
  Implicit implicit = Implicit::kOne;
  std::shared_ptr<const void> owner = {};

  bool is_sparse() const { return storage != Storage::kDense; }
  std::int64_t entries() const {
    if (!is_sparse()) return rows * columns;
    return offsets[storage == Storage::kCsr ? rows : columns];
  }
};

// The value of entry i of `line`, a row or column by the form, of a sparse matrix, also where it is
// implicit. T is the type of the matrix.
template <class T>
T value_at(const Matrix& matrix, std::int64_t line, std::int64_t i) {
  if (matrix.values != nullptr) return static_cast<const T*>(matrix.values)[i];
  if (matrix.implicit == Implicit::kOne) return 1;
  return static_cast<T>(
      1 / std::sqrt(static_cast<double>(matrix.offsets[line + 1] - matrix.offsets[line])));
}

// Indices have 32 bits. Throws ConfigError that says what to do when there are more columns, or
// rows of a matrix by columns (`what`), than these can count.
void check_columns(std::int64_t count, const char* what = "columns");

class Threads;

// Throws ConfigError when pointers are missing, offsets go down, an index is outside of the matrix
// or twice in a row, or a value is not finite; names the first place. One pass over the data.
void check(const Matrix& matrix, Threads& threads);

// The same numbers in the form that is asked for: `matrix` itself where it has it already. Dense
// becomes sparse by leaving out zeros; row-major is what kDense gives.
Matrix to_storage(const Matrix& matrix, Storage storage, Threads& threads);
// With threads of its own; 0: one per processor.
Matrix to_storage(const Matrix& matrix, Storage storage, int threads = 0);

// The rows [begin, end). A view where the form allows (kDense, kCsr), else ConfigError.
Matrix row_range(const Matrix& matrix, std::int64_t begin, std::int64_t end);

}  // namespace tutti::learn
