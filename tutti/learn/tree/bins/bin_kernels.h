// Vectorised binning of dense rows.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/tree/bins/bins.h"

namespace tutti::learn::tree {

// Lookup table from values to bins. The range of the edges of a column is divided into kCells cells of equal width.
// `before` is the number of edges in the preceding cells, and one comparison with the next kWindow edges counts the
// rest. If a cell has more edges than that, because of outliers, two comparisons of 16 edges each find the bin.
template <class T>
struct EdgeTable {
  static constexpr int kCells = 1024, kWindow = 8;
  static constexpr int kEdges = kBins + 16;  // per column, with a window beyond the last edge
  struct alignas(64) Block {  // aligned, so a comparison reads as few cache lines as possible
    T numbers[16];
  };
  std::vector<Block> edges;          // kEdges per column, padded with infinity
  std::vector<Block> coarse;         // the last one of every 16 edges of a column
  std::vector<T> starts, scales;     // per column: the cell of a value is (value - start) * scale
  std::vector<std::uint8_t> before;  // kCells per column
  std::vector<int> without_cells = {};  // columns that need the two-step search
};

template <class T>
EdgeTable<T> make_edge_table(const Bins& bins, int first_column, int columns);

// Writes the bins of the rows [begin, end) to bins[row * stride + column]. The value of a row and column is values[row
// * row_stride + column].
void bin_rows(const EdgeTable<float>& table, const float* values, std::int64_t row_stride,
              int columns, std::int64_t begin, std::int64_t end, std::uint8_t* bins, int stride);
void bin_rows(const EdgeTable<double>& table, const double* values, std::int64_t row_stride,
              int columns, std::int64_t begin, std::int64_t end, std::uint8_t* bins, int stride);

}  // namespace tutti::learn::tree
