// Products of matrices in f32 that fit into the caches, for convolutions that make their matrices
// as they go. Columns are made in panels, as many as fill the registers.
#pragma once

#include <cstdint>

namespace tutti::kernels {

constexpr std::int64_t kPanel = 16;

inline std::int64_t whole_panels(std::int64_t columns) {
  return (columns + kPanel - 1) / kPanel * kPanel;
}

// A matrix of `rows` x (segments * depth). The values of a segment lie beside each other; rows and
// segments are so many values apart and may overlap, as neighbours in a picture do.
struct LeftMatrix {
  const float* values = nullptr;
  std::int64_t rows = 0, row = 0, depth = 0;
  std::int64_t segments = 1, segment = 0;
};

// result = left * right + bias. `right` has its columns in whole panels, one panel after the other,
// each with a row for every depth; `bias` has as many or is null. Rows of the result, which gets
// whole panels too, are `result_row` values apart.
void multiply_rows(const LeftMatrix& left, const float* right, const float* bias, float* result,
                   std::int64_t result_row, std::int64_t columns);

// result += transposed(left) * right, where `left` has one segment and `right`, as many rows,
// `right_row` values apart, of whole panels. The result has rows of whole panels.
void add_turned_product(const LeftMatrix& left, const float* right, std::int64_t right_row,
                        float* result, std::int64_t columns);

}  // namespace tutti::kernels
