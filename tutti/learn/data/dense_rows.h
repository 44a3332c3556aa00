// Dense access to the rows of any matrix.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn {

// Returns the rows [begin, end) as dense rows of T: a pointer into the matrix if it stores them that way, otherwise a
// copy in `buffer`, with `absent` for the entries that a sparse matrix does not store. kCsc is not supported.
template <class T>
const T* dense_rows(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                    std::vector<T>& buffer, std::int64_t& row_stride, T absent = 0) {
  const bool has_type = matrix.dtype == DTypeOf<T>::value;
  if (matrix.storage == Storage::kDense && has_type && matrix.column_stride == 1) {
    row_stride = matrix.row_stride;
    return static_cast<const T*>(matrix.values) + begin * matrix.row_stride;
  }
  row_stride = matrix.columns;
  buffer.assign((end - begin) * matrix.columns, absent);
  const auto number = [&](std::int64_t at) {
    return matrix.dtype == DType::kF32
               ? static_cast<T>(static_cast<const float*>(matrix.values)[at])
               : static_cast<T>(static_cast<const double*>(matrix.values)[at]);
  };
  for (std::int64_t row = begin; row < end; ++row) {
    T* target = buffer.data() + (row - begin) * matrix.columns;
    if (matrix.storage == Storage::kDense) {
      for (std::int64_t c = 0; c < matrix.columns; ++c)
        target[c] = number(row * matrix.row_stride + c * matrix.column_stride);
      continue;
    }
    const std::int64_t first = matrix.offsets[row], last = matrix.offsets[row + 1];
    const double implicit =
        matrix.implicit == Implicit::kOne ? 1 : 1 / std::sqrt(static_cast<double>(last - first));
    for (std::int64_t at = first; at < last; ++at)
      target[matrix.indices[at]] = matrix.values != nullptr ? number(at) : static_cast<T>(implicit);
  }
  return buffer.data();
}

}  // namespace tutti::learn
