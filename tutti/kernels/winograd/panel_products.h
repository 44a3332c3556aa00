// Cache-resident f32 matrix products, for convolutions that generate their matrices on the fly. Columns are processed
// in panels that fill the vector registers.
#pragma once

#include <cstdint>

namespace tutti::kernels {

constexpr std::int64_t kPanel = 16;

inline std::int64_t whole_panels(std::int64_t columns) {
  return (columns + kPanel - 1) / kPanel * kPanel;
}

// A matrix of `rows` x (segments * depth). The values of a segment are contiguous. `row` and `segment` are strides in
// values; rows and segments may overlap, like neighbourhoods in an image.
struct LeftMatrix {
  const float* values = nullptr;
  std::int64_t rows = 0, row = 0, depth = 0;
  std::int64_t segments = 1, segment = 0;
};

// result = left * right + bias. The columns of `right` are padded to full panels and stored panel by panel, each with
// one row per depth. `bias` has as many columns or is null. The rows of the result are padded to full panels;
// `result_row` is their stride in values.
void multiply_rows(const LeftMatrix& left, const float* right, const float* bias, float* result,
                   std::int64_t result_row, std::int64_t columns);

// result += transpose(left) * right. `left` has one segment. `right` has as many rows, padded to full panels, with
// stride `right_row`. The rows of the result are padded to full panels.
void add_transposed_product(const LeftMatrix& left, const float* right, std::int64_t right_row,
                            float* result, std::int64_t columns);

}  // namespace tutti::kernels
