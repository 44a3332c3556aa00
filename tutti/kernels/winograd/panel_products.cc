#include "tutti/kernels/winograd/panel_products.h"

// Sizeless vectors (SVE, RVV) cannot be stored in arrays of sums.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/winograd/panel_products.cc"
#include <hwy/foreach_target.h>
// Included after foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::CappedTag<float, kPanel>;
using Vector = hn::Vec<Lanes>;
constexpr Lanes kLanes;
constexpr int kLaneCount = static_cast<int>(hn::MaxLanes(kLanes));
constexpr int kVectors = static_cast<int>(kPanel) / kLaneCount;
// Rows of sums that fit into the registers, minus those for one row of the panel and one value of `left`.
constexpr int kMostRows = kVectors == 1 ? 12 : kVectors == 2 ? 6 : 2;

// A block of rows of one panel of the result; the sums of each row begin with `start`.
template <int kRows>
HWY_INLINE void multiply_block(const LeftMatrix& left, const float* panel, const Vector* start,
                               float* result, std::int64_t result_row) {
  Vector sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = start[v];
  for (std::int64_t s = 0; s < left.segments; ++s) {
    const float* from = left.values + s * left.segment;
    for (std::int64_t i = 0; i < left.depth; ++i, ++from, panel += kPanel) {
      Vector row[kVectors];
      for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(kLanes, panel + v * kLaneCount);
      for (int r = 0; r < kRows; ++r) {
        const Vector value = hn::Set(kLanes, from[r * left.row]);
        for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(value, row[v], sum[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sum[r][v], kLanes, result + r * result_row + v * kLaneCount);
}

// The remaining rows, fewer than kRows.
template <int kRows>
HWY_INLINE void multiply_rest(const LeftMatrix& left, const float* panel, const Vector* start,
                              float* result, std::int64_t result_row, std::int64_t rows) {
  if constexpr (kRows > 1) {
    if (rows == kRows - 1)
      multiply_block<kRows - 1>(left, panel, start, result, result_row);
    else
      multiply_rest<kRows - 1>(left, panel, start, result, result_row, rows);
  }
}

HWY_ATTR void multiply_rows(const LeftMatrix& left, const float* right, const float* bias,
                            float* result, std::int64_t result_row, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; column += kPanel) {
    Vector start[kVectors];
    for (int v = 0; v < kVectors; ++v)
      start[v] = bias ? hn::LoadU(kLanes, bias + column + v * kLaneCount) : hn::Zero(kLanes);
    const float* panel = right + column * left.segments * left.depth;
    LeftMatrix block = left;
    float* to = result + column;
    for (std::int64_t rows = left.rows; rows > 0; rows -= kMostRows) {
      if (rows >= kMostRows)
        multiply_block<kMostRows>(block, panel, start, to, result_row);
      else
        multiply_rest<kMostRows>(block, panel, start, to, result_row, rows);
      block.values += kMostRows * left.row;
      to += kMostRows * result_row;
    }
  }
}

// Adds kRows columns of `left` times one panel of `right` to kRows rows of the result.
template <int kRows>
HWY_INLINE void add_block(const LeftMatrix& left, const float* right, std::int64_t right_row,
                          float* result, std::int64_t result_row) {
  Vector sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = hn::LoadU(kLanes, result + r * result_row + v * kLaneCount);
  const float* from = left.values;
  for (std::int64_t i = 0; i < left.rows; ++i, from += left.row, right += right_row) {
    Vector row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(kLanes, right + v * kLaneCount);
    for (int r = 0; r < kRows; ++r) {
      const Vector value = hn::Set(kLanes, from[r]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(value, row[v], sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sum[r][v], kLanes, result + r * result_row + v * kLaneCount);
}

template <int kRows>
HWY_INLINE void add_rest(const LeftMatrix& left, const float* right, std::int64_t right_row,
                         float* result, std::int64_t result_row, std::int64_t rows) {
  if constexpr (kRows > 1) {
    if (rows == kRows - 1)
      add_block<kRows - 1>(left, right, right_row, result, result_row);
    else
      add_rest<kRows - 1>(left, right, right_row, result, result_row, rows);
  }
}

HWY_ATTR void add_transposed_product(const LeftMatrix& left, const float* right,
                                     std::int64_t right_row, float* result, std::int64_t columns) {
  const std::int64_t result_row = whole_panels(columns);
  for (std::int64_t column = 0; column < columns; column += kPanel) {
    LeftMatrix block = left;
    float* to = result + column;
    for (std::int64_t rows = left.depth; rows > 0; rows -= kMostRows) {
      if (rows >= kMostRows)
        add_block<kMostRows>(block, right + column, right_row, to, result_row);
      else
        add_rest<kMostRows>(block, right + column, right_row, to, result_row, rows);
      block.values += kMostRows;
      to += kMostRows * result_row;
    }
  }
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

HWY_EXPORT(multiply_rows);
HWY_EXPORT(add_transposed_product);

void multiply_rows(const LeftMatrix& left, const float* right, const float* bias, float* result,
                   std::int64_t result_row, std::int64_t columns) {
  HWY_DYNAMIC_DISPATCH(multiply_rows)(left, right, bias, result, result_row, columns);
}
void add_transposed_product(const LeftMatrix& left, const float* right, std::int64_t right_row,
                            float* result, std::int64_t columns) {
  HWY_DYNAMIC_DISPATCH(add_transposed_product)(left, right, right_row, result, columns);
}

}  // namespace tutti::kernels
#endif
