#include "tutti/learn/tree/bins/binned_data.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tutti/core/error.h"
#include "tutti/learn/base/large_memory.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/bin_kernels.h"
#include "tutti/learn/tree/bins/residency.h"

namespace tutti::learn::tree {
namespace {

constexpr std::int64_t kBinningGrain = 8192;  // rows

template <class T>
void bin_dense(const Matrix& matrix, const Bins& bins, int tile, BinnedData& data,
               Threads& threads) {
  const int first = tile * BinnedData::kTileColumns, columns = data.tile_columns(tile);
  const auto table = make_edge_table<T>(bins, first, columns);
  const T* values = static_cast<const T*>(matrix.values) + first * matrix.column_stride;
  std::uint8_t* target = data.tile(tile);
  threads.for_range(matrix.rows, kBinningGrain, [&](std::int64_t begin, std::int64_t end) {
    if (matrix.column_stride == 1)
      return bin_rows(table, values, matrix.row_stride, columns, begin, end, target, data.stride());
    std::vector<T> row(static_cast<std::size_t>(columns));
    for (std::int64_t r = begin; r < end; ++r) {
      for (int c = 0; c < columns; ++c)
        row[c] = values[r * matrix.row_stride + c * matrix.column_stride];
      bin_rows(table, row.data(), 0, columns, 0, 1, target + r * data.stride(), data.stride());
    }
  });
}

// Scalar version, for categorical columns and for edges of another type than the values.
template <class T>
void bin_slowly(const Matrix& matrix, const Bins& bins, BinnedData& data, Threads& threads) {
  const bool all = sizeof(T) == sizeof(float) && !bins.are_f32;
  for (int c = 0; c < data.columns(); ++c) {
    const ColumnBins& column = bins.columns[c];
    if (!all && !column.is_categorical) continue;
    std::uint8_t* target = data.tile(c / BinnedData::kTileColumns) + c % BinnedData::kTileColumns;
    const T* values = static_cast<const T*>(matrix.values) + c * matrix.column_stride;
    threads.for_range(matrix.rows, kBinningGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        target[r * data.stride()] =
            column.bin_of(static_cast<double>(values[r * matrix.row_stride]));
    });
  }
}

void bin_sparse_row(const Matrix& matrix, const Bins& bins, std::int64_t row, BinnedData& data) {
  const std::int64_t begin = matrix.offsets[row], end = matrix.offsets[row + 1];
  double value =
      matrix.implicit == Implicit::kOne ? 1.0 : 1.0 / std::sqrt(static_cast<double>(end - begin));
  for (std::int64_t at = begin; at < end; ++at) {
    const int c = matrix.indices[at];
    if (matrix.values != nullptr)
      value = matrix.dtype == DType::kF32
                  ? static_cast<double>(static_cast<const float*>(matrix.values)[at])
                  : static_cast<const double*>(matrix.values)[at];
    data.tile(c / BinnedData::kTileColumns)[row * data.stride() + c % BinnedData::kTileColumns] =
        bins.columns[c].bin_of(value);
  }
}

void bin_sparse(const Matrix& matrix, const Bins& bins, BinnedData& data, Threads& threads) {
  std::vector<std::uint8_t> zero(static_cast<std::size_t>(data.tiles() * data.stride()));
  for (std::size_t c = 0; c < bins.columns.size(); ++c) zero[c] = bins.columns[c].bin_of(0.0);
  threads.for_range(matrix.rows, kBinningGrain, [&](std::int64_t begin, std::int64_t end) {
    for (int tile = 0; tile < data.tiles(); ++tile)
      for (std::int64_t row = begin; row < end; ++row)
        std::memcpy(data.tile(tile) + row * data.stride(),
                    zero.data() + tile * BinnedData::kTileColumns,
                    static_cast<std::size_t>(data.stride()));
    for (std::int64_t row = begin; row < end; ++row) bin_sparse_row(matrix, bins, row, data);
  });
}

}  // namespace

BinnedData::BinnedData(std::int64_t rows, int columns)
    : rows_(rows),
      columns_(columns),
      stride_(static_cast<int>(
          std::bit_ceil(static_cast<unsigned>(std::clamp(columns, 4, kTileColumns))))) {
  std::byte* memory = allocate_large(offset(tiles())).release();
  bytes_.reset(reinterpret_cast<std::uint8_t*>(memory), FreeMemory());
}

BinnedData::BinnedData(std::int64_t rows, int columns, const std::filesystem::path& folder)
    : BinnedData(0, columns) {
  rows_ = rows;
  is_in_file_ = true;
  const std::size_t size = std::max<std::size_t>(1, offset(tiles()));
  bytes_.reset(static_cast<std::uint8_t*>(map_unnamed_file(folder, size)),
               [size](std::uint8_t* memory) { munmap(memory, size); });
}

void BinnedData::add_columns(Threads& threads) {
  const std::size_t size = static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_);
  std::byte* memory = allocate_large(size).release();
  columns_apart_.reset(reinterpret_cast<std::uint8_t*>(memory), FreeMemory());
  constexpr std::int64_t kRows = 512;  // fit into the L1 cache for all columns
  threads.for_range(rows_, kRows, [&](std::int64_t begin, std::int64_t end) {
    for (int c = 0; c < columns_; ++c) {
      const std::uint8_t* from = column(c);
      std::uint8_t* to = columns_apart_.get() + c * rows_;
      for (std::int64_t row = begin; row < end; ++row) to[row] = from[row * stride_];
    }
  });
}

void BinnedData::prefetch(std::int64_t begin, std::int64_t end) const {
  for (int t = 0; is_in_file_ && t < tiles(); ++t)
    advise(bytes_.get(), tile(t) + begin * stride_, (end - begin) * stride_, Advice::kPrefetch);
}

void BinnedData::release(std::int64_t begin, std::int64_t end) const {
  for (int t = 0; is_in_file_ && t < tiles(); ++t)
    advise(bytes_.get(), tile(t) + begin * stride_, (end - begin) * stride_, Advice::kRelease);
}

BinnedData bin(const Matrix& matrix, const Bins& bins, Threads& threads) {
  if (matrix.columns != static_cast<std::int64_t>(bins.columns.size()))
    throw ConfigError("DDL-9-21", fmt::format("the data has {} columns, the model has {}.",
                                              matrix.columns, bins.columns.size()));
  BinnedData data(matrix.rows, static_cast<int>(matrix.columns));
  std::uint8_t* last_tile = data.tile(data.tiles() - 1);
  if (data.columns() % data.stride() != 0)
    threads.for_range(matrix.rows, kBinningGrain, [&](std::int64_t begin, std::int64_t end) {
      std::memset(last_tile + begin * data.stride(), 0,
                  static_cast<std::size_t>((end - begin) * data.stride()));
    });
  if (matrix.is_sparse()) {
    bin_sparse(to_storage(matrix, Storage::kCsr, threads), bins, data, threads);
    return data;
  }
  const bool is_f32 = matrix.dtype == DType::kF32;
  for (int tile = 0; tile < data.tiles(); ++tile) {
    if (is_f32 && bins.are_f32) bin_dense<float>(matrix, bins, tile, data, threads);
    if (!is_f32) bin_dense<double>(matrix, bins, tile, data, threads);
  }
  if (is_f32)
    bin_slowly<float>(matrix, bins, data, threads);
  else
    bin_slowly<double>(matrix, bins, data, threads);
  return data;
}

BinnedData bin_to_file(const Matrix& matrix, const Bins& bins, std::int64_t block_rows,
                       const std::filesystem::path& folder, Threads& threads) {
  BinnedData data(matrix.rows, static_cast<int>(matrix.columns), folder);
  const MappedRows source(matrix);
  for (std::int64_t begin = 0; begin < matrix.rows; begin += block_rows) {
    const std::int64_t end = std::min(matrix.rows, begin + block_rows);
    source.prefetch(end, std::min(matrix.rows, end + block_rows));
    const BinnedData block = bin(row_range(matrix, begin, end), bins, threads);
    for (int tile = 0; tile < data.tiles(); ++tile)
      std::memcpy(data.tile(tile) + begin * data.stride(), block.tile(tile),
                  static_cast<std::size_t>((end - begin) * data.stride()));
    source.release(begin, end);
    data.release(begin, end);
  }
  return data;
}

}  // namespace tutti::learn::tree
