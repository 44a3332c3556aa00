// Histograms: sums of gradients and hessians of the rows of a node, per column and bin.
//
// All sums are sums of integers, so they are bitwise identical for any order, number of threads and number of ranks. A
// histogram is a flat array of 64-bit words, `words_per_bin` for each of the 256 bins of each column; histograms are
// added and subtracted word by word.
// - kNarrow: one word, with the gradient in the upper 32 bits (signed) and the hessian in the lower 32
// - kWide: two words, gradient and hessian
// - kClasses: one word per class, its weight
// With `counts_rows`, kWide and kClasses have one more word, the number of rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/bins/binned_data.h"

namespace tutti::learn::tree {

enum class Kind : std::uint8_t { kNarrow, kWide, kClasses };

// A row of a node with its contribution to the sums.
struct NarrowRecord {
  std::uint32_t row;
  std::int16_t gradient;
  std::uint16_t hessian;
};
struct WideRecord {
  std::uint32_t row;
  std::uint32_t hessian;  // kClasses: the weight
  std::int64_t gradient;  // kClasses: the class
};

// Packed words can be added directly: hessians are not negative, so the lower half never borrows from the gradient.
inline std::uint64_t pack(std::int64_t gradient, std::int64_t hessian) {
  return (static_cast<std::uint64_t>(gradient) << 32) + static_cast<std::uint64_t>(hessian);
}
inline std::int64_t gradient_of(std::uint64_t word) {
  return static_cast<std::int64_t>(word) >> 32;
}
inline std::int64_t hessian_of(std::uint64_t word) {
  return static_cast<std::int64_t>(word & 0xffffffffu);
}

struct HistogramShape {
  Kind kind = Kind::kNarrow;
  int columns = 0;
  int classes = 0;           // kClasses only
  bool counts_rows = false;  // kWide and kClasses only

  // Words of the sums of a bin, without the number of rows.
  std::size_t sums_per_bin() const {
    return kind == Kind::kNarrow ? 1 : kind == Kind::kWide ? 2 : static_cast<std::size_t>(classes);
  }
  std::size_t words_per_bin() const { return sums_per_bin() + (counts_rows ? 1 : 0); }
  std::size_t words_per_column() const { return words_per_bin() * kBins; }
  std::size_t words() const { return words_per_column() * static_cast<std::size_t>(columns); }
};

// Prefetch distance in records: the rows of a node are scattered over memory, and partitioning takes much less time per
// row than accumulation.
inline constexpr std::size_t kAddLookahead = 56, kPartitionLookahead = 64;

// Background prefetch of memory that is needed later, one cache line at a time. Accumulation leaves memory bandwidth
// unused; loading the lines only when they are needed would double the time.
struct Prefetcher {
  const std::uint8_t* next = nullptr;
  const std::uint8_t* end = nullptr;

  void prefetch() {
    constexpr std::ptrdiff_t kLine = 64;
    __builtin_prefetch(next, 0, 2);
    next += next < end ? kLine : 0;
  }
};

// Adds the rows of `records` to the histogram of all columns of one tile. Prefetches one cache line of `prefetcher` per
// record, if it is not null.
void add_rows(const BinnedData& data, int tile, std::span<const NarrowRecord> records,
              const HistogramShape& shape, std::uint64_t* histogram,
              Prefetcher* prefetcher = nullptr);
void add_rows(const BinnedData& data, int tile, std::span<const WideRecord> records,
              const HistogramShape& shape, std::uint64_t* histogram,
              Prefetcher* prefetcher = nullptr);

// The same for the given columns of any tiles.
void add_rows(const BinnedData& data, std::span<const int> columns,
              std::span<const NarrowRecord> records, const HistogramShape& shape,
              std::uint64_t* histogram);
void add_rows(const BinnedData& data, std::span<const int> columns,
              std::span<const WideRecord> records, const HistogramShape& shape,
              std::uint64_t* histogram);

}  // namespace tutti::learn::tree
