#include "tutti/learn/data/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tutti/comm/kernels/kernels.h"
#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/internal/sparse_storage.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kRowsAtOnce = 4096;

[[noreturn]] void refuse(const std::string& message) {
  throw ConfigError("DDL-9-01", message);
}

}  // namespace

void check_columns(std::int64_t count, const char* what) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (count > kMax)
    refuse(fmt::format(
        "There are {} {}; the limit is {}. Renumber those that occur, or hash them to fewer.",
        count, what, kMax));
}

namespace {

void check_shape(const Matrix& matrix) {
  if (matrix.dtype != DType::kF32 && matrix.dtype != DType::kF64)
    refuse(fmt::format("Values of type {} are not supported. Convert them to f32 or f64.",
                       name_of(matrix.dtype)));
  if (matrix.rows < 0 || matrix.columns < 0) refuse("A matrix has a negative size.");
  check_columns(matrix.columns);
  if (matrix.storage == Storage::kCsc) check_columns(matrix.rows, "rows of a CSC matrix");
  if (!matrix.is_sparse()) {
    if (matrix.values == nullptr && matrix.entries() > 0) refuse("A dense matrix has no values.");
    return;
  }
  if (matrix.offsets == nullptr || (matrix.indices == nullptr && matrix.entries() > 0))
    refuse("A sparse matrix has no offsets or no indices.");
  if (matrix.values == nullptr && matrix.implicit == Implicit::kUnitNorm &&
      matrix.storage != Storage::kCsr)
    refuse("Implicit values of unit norm need CSR storage.");
  if (matrix.offsets[0] != 0) refuse("The offsets of a sparse matrix must begin with 0.");
}

// Reports the value that is not finite, `position` values after the start of `line`.
[[noreturn]] void refuse_value(const Matrix& matrix, std::int64_t line, std::int64_t position) {
  const std::int64_t other =
      matrix.is_sparse() ? matrix.indices[matrix.offsets[line] + position] : position;
  const bool by_rows = matrix.storage != Storage::kCsc;
  refuse(
      fmt::format("Row {}, column {} is NaN or infinite. Linear models need finite values: impute "
                  "the value or drop the row.",
                  by_rows ? line : other, by_rows ? other : line));
}

void check_indices(const Matrix& matrix, std::int64_t line) {
  const std::int64_t begin = matrix.offsets[line], end = matrix.offsets[line + 1];
  if (end < begin) refuse(fmt::format("The offsets of a sparse matrix decrease after {}.", line));
  const bool by_rows = matrix.storage == Storage::kCsr;
  const std::int64_t limit = by_rows ? matrix.columns : matrix.rows;
  const char* name = by_rows ? "row" : "column";
  bool ascends = true;
  for (std::int64_t i = begin; i < end; ++i) {
    if (matrix.indices[i] < 0 || matrix.indices[i] >= limit)
      refuse(fmt::format("The index {} in {} {} is outside of 0..{}.", matrix.indices[i], name,
                         line, limit - 1));
    ascends = ascends && (i == begin || matrix.indices[i] > matrix.indices[i - 1]);
  }
  if (ascends) return;
  std::vector<std::int32_t> sorted(matrix.indices + begin, matrix.indices + end);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    refuse(fmt::format("Index {} occurs twice in {} {}. Sum the duplicates.", *twice, name, line));
}

void check_values(const Matrix& matrix, std::int64_t line) {
  if (matrix.values == nullptr) return;
  const std::int64_t size = static_cast<std::int64_t>(size_of(matrix.dtype));
  const std::int64_t begin = matrix.is_sparse() ? matrix.offsets[line] : line * matrix.row_stride;
  const auto* values = static_cast<const std::byte*>(matrix.values) + begin * size;
  const bool is_together = matrix.is_sparse() || matrix.column_stride == 1;
  const std::int64_t count = matrix.is_sparse() ? matrix.offsets[line + 1] - begin : matrix.columns;
  if (is_together) {
    const std::int64_t position = comm::find_not_finite(matrix.dtype, values, count);
    if (position >= 0) refuse_value(matrix, line, position);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    if (comm::find_not_finite(matrix.dtype, values + i * matrix.column_stride * size, 1) >= 0)
      refuse_value(matrix, line, i);
}

template <class T>
Matrix copy_row_major(const Matrix& matrix, Threads& threads) {
  auto values = std::make_shared_for_overwrite<T[]>(matrix.rows * matrix.columns);
  const T* source = static_cast<const T*>(matrix.values);
  threads.for_range(matrix.rows, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t column = 0; column < matrix.columns; ++column)
      for (std::int64_t row = begin; row < end; ++row)
        values[row * matrix.columns + column] =
            source[row * matrix.row_stride + column * matrix.column_stride];
  });
  Matrix copy = matrix;
  copy.values = values.get();
  copy.row_stride = matrix.columns;
  copy.column_stride = 1;
  copy.owner = values;
  return copy;
}

template <class T>
Matrix dense_of(const Matrix& sparse, Threads& threads) {
  const Matrix by_rows = to_storage(sparse, Storage::kCsr, threads);
  auto values = std::make_shared<T[]>(sparse.rows * sparse.columns);
  threads.for_range(sparse.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t i = by_rows.offsets[row]; i < by_rows.offsets[row + 1]; ++i)
        values[row * sparse.columns + by_rows.indices[i]] = value_at<T>(by_rows, row, i);
  });
  Matrix dense{.storage = Storage::kDense,
               .dtype = sparse.dtype,
               .rows = sparse.rows,
               .columns = sparse.columns};
  dense.values = values.get();
  dense.row_stride = sparse.columns;
  dense.owner = values;
  return dense;
}

template <class T>
Matrix convert(const Matrix& matrix, Storage storage, Threads& threads) {
  if (storage == Storage::kDense)
    return matrix.is_sparse() ? dense_of<T>(matrix, threads) : copy_row_major<T>(matrix, threads);
  if (!matrix.is_sparse()) return to_storage(sparse_rows_of<T>(matrix, threads), storage, threads);
  return transpose_storage<T>(matrix, threads);
}

std::int64_t lines_of(const Matrix& matrix) {
  return matrix.storage == Storage::kCsc ? matrix.columns : matrix.rows;
}

}  // namespace

void check_structure(const Matrix& matrix, Threads& threads) {
  check_shape(matrix);
  if (!matrix.is_sparse()) return;
  threads.for_range(lines_of(matrix), kRowsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) check_indices(matrix, line);
  });
}

void check_structure(const Matrix& matrix) {
  Threads alone(1);
  check_structure(matrix, alone);
}

void check(const Matrix& matrix, Threads& threads) {
  check_shape(matrix);
  const bool is_solid =
      !matrix.is_sparse() && matrix.column_stride == 1 && matrix.row_stride == matrix.columns;
  threads.for_range(lines_of(matrix), kRowsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    const auto* values = static_cast<const std::byte*>(matrix.values) +
                         begin * matrix.columns * static_cast<std::int64_t>(size_of(matrix.dtype));
    if (is_solid && comm::find_not_finite(matrix.dtype, values, (end - begin) * matrix.columns) < 0)
      return;
    for (std::int64_t line = begin; line < end; ++line) {
      if (matrix.is_sparse()) check_indices(matrix, line);
      check_values(matrix, line);
    }
  });
}

Matrix to_storage(const Matrix& matrix, Storage storage, Threads& threads) {
  const bool is_there =
      storage == matrix.storage && (storage != Storage::kDense || matrix.column_stride == 1);
  if (is_there) return matrix;
  return matrix.dtype == DType::kF32 ? convert<float>(matrix, storage, threads)
                                     : convert<double>(matrix, storage, threads);
}

Matrix to_storage(const Matrix& matrix, Storage storage, int threads) {
  Threads own(threads);
  return to_storage(matrix, storage, own);
}

Matrix row_range(const Matrix& matrix, std::int64_t begin, std::int64_t end) {
  if (begin < 0 || end < begin || end > matrix.rows)
    refuse(fmt::format("Rows {}..{} are outside of a matrix of {} rows.", begin, end, matrix.rows));
  Matrix part = matrix;
  part.rows = end - begin;
  if (matrix.storage == Storage::kDense) {
    part.values = static_cast<const std::byte*>(matrix.values) +
                  begin * matrix.row_stride * static_cast<std::int64_t>(size_of(matrix.dtype));
    return part;
  }
  if (matrix.storage == Storage::kCsc)
    refuse("A range of rows needs dense or CSR storage, not CSC.");
  const std::int64_t first = matrix.offsets[begin];
  auto storage = std::make_shared<SparseStorage>();
  storage->below = matrix.owner;
  storage->offsets.assign(matrix.offsets + begin, matrix.offsets + end + 1);
  for (std::int64_t& offset : storage->offsets) offset -= first;
  part.offsets = storage->offsets.data();
  part.indices = matrix.indices + first;
  if (matrix.values != nullptr)
    part.values = static_cast<const std::byte*>(matrix.values) +
                  first * static_cast<std::int64_t>(size_of(matrix.dtype));
  part.owner = storage;
  return part;
}

}  // namespace tutti::learn
