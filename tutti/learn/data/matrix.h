// Dense and sparse matrices, the input of all learners.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "tutti/core/dtype.h"

namespace tutti::learn {

enum class Storage : std::uint8_t { kDense, kCsr, kCsc };

// Value of the entries of a sparse matrix without `values`: 1, or 1 / sqrt(entries of the row), which gives rows of
// unit L2 norm (hashed features). kUnitNorm requires kCsr.
enum class Implicit : std::uint8_t { kOne, kUnitNorm };

// A matrix view; copies share the memory. `owner` keeps the memory alive and is empty if the caller does. Entries that
// are not stored are 0; only NaN is a missing value.
struct Matrix {
  Storage storage = Storage::kDense;
  DType dtype = DType::kF32;  // type of the values: kF32 or kF64
  std::int64_t rows = 0, columns = 0;
  const void* values = nullptr;  // sparse: may be null, see `implicit`
  // kDense: element (r, c) is values[r * row_stride + c * column_stride].
  std::int64_t row_stride = 0, column_stride = 1;
  // kCsr: the entries of row r are offsets[r] to offsets[r + 1], with distinct column indices in `indices`. kCsc: the
  // same with rows and columns exchanged.
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

// Value of entry i of `line` (kCsr: a row, kCsc: a column), also if it is implicit. T is the type of the matrix.
template <class T>
T value_at(const Matrix& matrix, std::int64_t line, std::int64_t i) {
  if (matrix.values != nullptr) return static_cast<const T*>(matrix.values)[i];
  if (matrix.implicit == Implicit::kOne) return 1;
  return static_cast<T>(
      1 / std::sqrt(static_cast<double>(matrix.offsets[line + 1] - matrix.offsets[line])));
}

// Throws ConfigError if `count` exceeds 32-bit indices. `what` names the counted things in the message: columns, or
// rows of a CSC matrix.
void check_columns(std::int64_t count, const char* what = "columns");

class Threads;

// Throws ConfigError, which names the first error: a missing pointer, decreasing offsets, an index that is out of range
// or duplicate, or a value that is not finite. One pass over the data.
void check(const Matrix& matrix, Threads& threads);

// The same without the values, for learners that accept missing values.
void check_structure(const Matrix& matrix, Threads& threads);
void check_structure(const Matrix& matrix);  // on one thread

// Converts to another storage; returns `matrix` itself if it has that storage. Converting dense to sparse drops zeros.
// kDense returns a row-major matrix.
Matrix to_storage(const Matrix& matrix, Storage storage, Threads& threads);
// The same with a temporary thread pool; `threads` 0: one per CPU.
Matrix to_storage(const Matrix& matrix, Storage storage, int threads = 0);

// Returns a view of the rows [begin, end). Throws ConfigError for kCsc.
Matrix row_range(const Matrix& matrix, std::int64_t begin, std::int64_t end);

}  // namespace tutti::learn
