// Memory of sparse matrices built by this library, and conversions between storages.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn {

// `values_f32` or `values_f64` has the values, depending on the type; both are empty if all entries are implicit.
struct SparseStorage {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> indices;
  std::vector<float> values_f32;
  std::vector<double> values_f64;
  std::shared_ptr<const void> below;  // memory that a view refers to
};

template <class T>
std::vector<T>& values_of(SparseStorage& storage) {
  if constexpr (sizeof(T) == 4) {
    return storage.values_f32;
  } else {
    return storage.values_f64;
  }
}

// Converts dense to CSR, without the zeros.
template <class T>
Matrix sparse_rows_of(const Matrix& dense, Threads& threads);

// Converts CSR to CSC or back.
template <class T>
Matrix transpose_storage(const Matrix& sparse, Threads& threads);

}  // namespace tutti::learn
