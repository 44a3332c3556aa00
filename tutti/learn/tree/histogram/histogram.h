// Sums over the rows of a node, by column and bin: the work of growing trees.
//
// All sums are of whole numbers, so they have the same bits in whatever order, by whatever threads
// and on whatever ranks they are made. A histogram is a flat array of 64-bit words, `words_per_bin`
// for each of the 256 bins of each column; adding and subtracting histograms is adding words.
//   kNarrow   one word: gradients in the upper 32 bits (signed), hessians in the lower 32
//   kWide     two words: gradients, hessians
//   kClasses  one word for each class: weights
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/bins/binned_data.h"

namespace tutti::learn::tree {

enum class Kind : std::uint8_t { kNarrow, kWide, kClasses };

// A row of a node with what it adds to the sums.
struct NarrowRecord {
  std::uint32_t row;
  std::int16_t gradient;
  std::uint16_t hessian;
};
struct WideRecord {
  std::uint32_t row;
  std::int32_t gradient;  // kClasses: the class
  std::uint32_t hessian;  // kClasses: the weight
};

// The sum of words is the word of the sums: a negative gradient borrows from nothing, because
// hessians are not negative.
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
  int classes = 0;  // kClasses only

  std::size_t words_per_bin() const {
    return kind == Kind::kNarrow ? 1 : kind == Kind::kWide ? 2 : static_cast<std::size_t>(classes);
  }
  std::size_t words_per_column() const { return words_per_bin() * kBins; }
  std::size_t words() const { return words_per_column() * static_cast<std::size_t>(columns); }
};

// How many records ahead the bins of a row are fetched: rows of a node are scattered over memory,
// and parting them takes much less time for each than adding them up.
inline constexpr std::size_t kAddLookahead = 56, kPartitionLookahead = 64;

// Memory that is needed later, brought nearer line by line while something else is done: adding
// needs no new memory for long, and waiting for it afterwards would take as long again.
struct Ahead {
  const std::uint8_t* next = nullptr;
  const std::uint8_t* end = nullptr;

  void fetch() {
    constexpr std::ptrdiff_t kLine = 64;
    __builtin_prefetch(next, 0, 2);
    next += next < end ? kLine : 0;
  }
};

// Adds the rows of `records` to the histogram of all columns of one tile. Fetches a line of `ahead`
// for each record, if there is one.
void add_rows(const BinnedData& data, int tile, std::span<const NarrowRecord> records,
              const HistogramShape& shape, std::uint64_t* histogram, Ahead* ahead = nullptr);
void add_rows(const BinnedData& data, int tile, std::span<const WideRecord> records,
              const HistogramShape& shape, std::uint64_t* histogram, Ahead* ahead = nullptr);

// The same for the given columns only, of any tile.
void add_rows(const BinnedData& data, std::span<const int> columns,
              std::span<const NarrowRecord> records, const HistogramShape& shape,
              std::uint64_t* histogram);
void add_rows(const BinnedData& data, std::span<const int> columns,
              std::span<const WideRecord> records, const HistogramShape& shape,
              std::uint64_t* histogram);

}  // namespace tutti::learn::tree
