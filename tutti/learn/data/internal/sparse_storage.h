// Memory of sparse matrices that we made ourselves, and the conversions that make them.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn {

struct SparseStorage {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> indices;
  std::vector<float> values_f32;
  std::vector<double> values_f64;
  std::shared_ptr<const void> below;  // what a view still needs
};

// The value of entry i of `line`, also where it is implicit.
template <class T>
T value_at(const Matrix& matrix, std::int64_t line, std::int64_t i) {
  if (matrix.values != nullptr) return static_cast<const T*>(matrix.values)[i];
  if (matrix.implicit == Implicit::kOne) return 1;
  return static_cast<T>(
      1 / std::sqrt(static_cast<double>(matrix.offsets[line + 1] - matrix.offsets[line])));
}

// Dense to sparse rows without the zeros.
template <class T>
Matrix sparse_rows_of(const Matrix& dense, Threads& threads);

// Sparse rows to sparse columns or back.
template <class T>
Matrix transpose_storage(const Matrix& sparse, Threads& threads);

}  // namespace tutti::learn
