// A matrix as bins, in the order in which histograms read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "tutti/learn/tree/bins/bins.h"

namespace tutti::learn::tree {

// Columns lie in tiles of up to 32: the bins of one row and one tile are `stride` consecutive bytes
// that share a cache line, and the histograms of one tile stay in the nearest caches. Bytes beyond
// the last column are 0.
class BinnedData {
 public:
  static constexpr int kTileColumns = 32;

  BinnedData(std::int64_t rows, int columns);
  // In an unnamed file of `folder`, of which only the rows in use are in memory. Throws IoError
  // (DDL-9-26) when the folder has no room.
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
  // The bins of one column: that of row r is at [r * stride()].
  const std::uint8_t* column(int index) const {
    return tile(index / kTileColumns) + index % kTileColumns;
  }
  std::uint8_t at(std::int64_t row, int column_index) const {
    return column(column_index)[row * stride_];
  }
  // The same bins once more, column by column. Whoever looks at one column of many scattered rows
  // fetches a cache line for each row otherwise. Takes as much memory again, and pays for many
  // trees.
  void add_columns(Threads& threads);
  // The bins of one column where they lie closest: that of row r is at bins[r * stride].
  struct OneColumn {
    const std::uint8_t* bins;
    int stride;
  };
  OneColumn one_column(int index) const {
    if (columns_apart_ == nullptr) return {column(index), stride_};
    return {columns_apart_.get() + index * rows_, 1};
  }
  std::int64_t row_bytes() const { return std::int64_t{stride_} * tiles(); }

  // In a file: starts reading these rows; lets their memory go. In memory: nothing.
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

// The columns of `matrix` must be those of `bins`, else ConfigError (DDL-9-21). What a sparse
// matrix does not hold is 0, and has the bin of 0.
BinnedData bin(const Matrix& matrix, const Bins& bins, Threads& threads);

// The same in a file, `block_rows` at a time; what was read of a mapped matrix is let go again.
// Sparse matrices must be kCsr.
BinnedData bin_to_file(const Matrix& matrix, const Bins& bins, std::int64_t block_rows,
                       const std::filesystem::path& folder, Threads& threads);

}  // namespace tutti::learn::tree
