// Bins of dense rows with the widest vectors the processor has.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/tree/bins.h"

namespace tutti::learn::tree {

// 256 edges per column, those that do not exist are infinite, and of every 16 the last: two
// comparisons of 16 find the bin.
template <class T>
struct EdgeTable {
  struct alignas(64) Block {  // no comparison reads from two cache lines more than it must
    T numbers[16];
  };
  std::vector<Block> edges;   // 16 for each column
  std::vector<Block> coarse;  // 1 for each column
};

template <class T>
EdgeTable<T> make_edge_table(const Bins& bins, int first_column, int columns);

// Puts the bins of rows [begin, end) into bins[row * stride + column]. The value of a row and
// column is values[row * row_stride + column].
void bin_rows(const EdgeTable<float>& table, const float* values, std::int64_t row_stride,
              int columns, std::int64_t begin, std::int64_t end, std::uint8_t* bins, int stride);
void bin_rows(const EdgeTable<double>& table, const double* values, std::int64_t row_stride,
              int columns, std::int64_t begin, std::int64_t end, std::uint8_t* bins, int stride);

}  // namespace tutti::learn::tree
