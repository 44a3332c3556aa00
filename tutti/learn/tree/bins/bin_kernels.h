// Bins of dense rows with the widest vectors the processor has.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/tree/bins/bins.h"

namespace tutti::learn::tree {

// How the bin of a value is found. The range of a column's edges is cut into kCells cells of equal
// width; of every cell it is known how many edges lie in those before it, and one comparison with
// the kWindow edges from there on counts the rest. Where a cell has more edges than that, because a
// few values lie far away from all others, two comparisons of 16 edges find the bin.
template <class T>
struct EdgeTable {
  static constexpr int kCells = 1024, kWindow = 8;
  static constexpr int kEdges = kBins + 16;  // of a column, with a window beyond the last
  struct alignas(64) Block {  // no comparison reads from two cache lines more than it must
    T numbers[16];
  };
  std::vector<Block> edges;             // kEdges for each column, those that are not there infinite
  std::vector<Block> coarse;            // of every 16 edges of a column the last
  std::vector<T> starts, scales;        // per column: a value's cell is (value - start) * scale
  std::vector<std::uint8_t> before;     // kCells for each column
  std::vector<int> without_cells = {};  // columns
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
