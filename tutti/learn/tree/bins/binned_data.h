// Binned matrix, in the layout that histograms read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "tutti/learn/tree/bins/bins.h"

namespace tutti::learn::tree {

// Columns are stored in tiles of up to 32: the bins of one row and tile are `stride` consecutive bytes in one cache
// line, and the histograms of a tile stay in the L1 or L2 cache. Bytes beyond the last column are 0.
class BinnedData {
 public:
  static constexpr int kTileColumns = 32;

  BinnedData(std::int64_t rows, int columns);
  // Stores the bins in an unnamed file in `folder`; only the rows in use are in memory. Throws IoError (DDL-9-26) if
  // there is not enough space.
  BinnedData(std::int64_t rows, int columns, const std::filesystem::path& folder);

  std::int64_t rows() const { return rows_; }
  int columns() const { return columns_; }
  int tiles() const { return (columns_ + kTileColumns - 1) / kTileColumns; }
  int stride() const { return stride_; }
  int tile_columns(int tile) const {
    return columns_ - tile * kTileColumns < kTileColumns ? columns_ - tile * kTileColumns
                                                         : kTileColumns;
  }
  const std::uint8_t* tile(int index) const { return bytes_.get() + offset(index); }
  std::uint8_t* tile(int index) { return bytes_.get() + offset(index); }
  // Bins of one column; the bin of row r is at [r * stride()].
  const std::uint8_t* column(int index) const {
    return tile(index / kTileColumns) + index % kTileColumns;
  }
  std::uint8_t at(std::int64_t row, int column_index) const {
    return column(column_index)[row * stride_];
  }
  // Adds a column-major copy of the bins. It avoids fetching one cache line per row when one column of many scattered
  // rows is read. Doubles the memory, so it is worthwhile only for many trees.
  void add_columns(Threads& threads);
  // Bins of one column in the most compact layout available; the bin of row r is bins[r * stride].
  struct OneColumn {
    const std::uint8_t* bins;
    int stride;
  };
  OneColumn one_column(int index) const {
    if (columns_apart_ == nullptr) return {column(index), stride_};
    return {columns_apart_.get() + index * rows_, 1};
  }
  std::int64_t row_bytes() const { return std::int64_t{stride_} * tiles(); }

  // File-backed: start reading these rows, or release their pages. In memory: no effect.
  void prefetch(std::int64_t begin, std::int64_t end) const;
  void release(std::int64_t begin, std::int64_t end) const;

 private:
  std::size_t offset(int tile_index) const {
    return static_cast<std::size_t>(tile_index) * static_cast<std::size_t>(rows_) *
           static_cast<std::size_t>(stride_);
  }

  std::int64_t rows_;
  int columns_, stride_;
  bool is_in_file_ = false;
  std::shared_ptr<std::uint8_t> bytes_, columns_apart_;
};

// Bins the matrix. Throws ConfigError (DDL-9-21) if its columns do not match `bins`. Entries that a sparse matrix does
// not store have the bin of 0.
BinnedData bin(const Matrix& matrix, const Bins& bins, Threads& threads);

// The same with a file-backed result, `block_rows` rows at a time; pages of a mapped matrix are released after reading.
// Sparse matrices must be kCsr.
BinnedData bin_to_file(const Matrix& matrix, const Bins& bins, std::int64_t block_rows,
                       const std::filesystem::path& folder, Threads& threads);

}  // namespace tutti::learn::tree
