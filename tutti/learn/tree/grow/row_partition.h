// Kernels that partition the rows of a node and sum them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tutti/learn/tree/split/split.h"

namespace tutti::learn::tree {

// Branch-free partition: writes the records that go left to the beginning of `target`, in order, and the others to its
// end, in reverse order. Returns the number of records that go left.
template <class Record>
std::int64_t partition_rows(const Record* source, std::int64_t size, Record* target,
                            const std::uint8_t* bins, int stride,
                            const std::array<std::uint8_t, kBins>& goes_left) {
  Record* left = target;
  Record* right = target + size - 1;
  const auto bin_of = [&](std::uint32_t row) {
    return bins + static_cast<std::size_t>(row) * static_cast<std::size_t>(stride);
  };
  // Copies whole words; copying member by member would take three stores.
  struct Words {
    std::uint32_t words[sizeof(Record) / 4];
  };
  using Word = std::conditional_t<sizeof(Record) == 8, std::uint64_t, Words>;
  const auto put = [&](const Record& record) {
    const std::uint8_t is_left = goes_left[*bin_of(record.row)];
    Word word;
    std::memcpy(&word, &record, sizeof(word));
    std::memcpy(left, &word, sizeof(word));
    std::memcpy(right, &word, sizeof(word));
    left += is_left;
    right -= 1 - is_left;
  };
  constexpr auto kAhead = static_cast<std::int64_t>(kPartitionLookahead);
  std::int64_t i = 0;
  for (; i + kAhead < size; ++i) {
    __builtin_prefetch(bin_of(source[i + kAhead].row), 0, 2);
    put(source[i]);
  }
  for (; i < size; ++i) put(source[i]);
  return left - target;
}

// The same for 16-bit offsets within a block; `bin_of` returns the address of the bin for the lower 15 bits. Writes the
// offsets that go left to `lefts`, which may be `source`, and the others to `rights`, both in order. Prefetches one
// cache line of `prefetcher` per offset. Returns the number of offsets that go left.
template <class BinOf>
std::int64_t partition_offsets(std::uint16_t* source, std::int64_t size, std::uint16_t* lefts,
                               std::uint16_t* rights, const BinOf& bin_of,
                               const std::array<std::uint8_t, kBins>& goes_left,
                               Prefetcher& prefetcher) {
  Prefetcher local = prefetcher;  // a local copy: byte loads may alias the original
  const std::uint8_t* const table = goes_left.data();
  std::uint16_t* left = lefts;
  std::uint16_t* right = rights;
  const auto put = [&](std::uint16_t offset) {
    const std::uint8_t is_left = table[*bin_of(offset)];
    *left = *right = offset;
    left += is_left;
    right += 1 - is_left;
  };
  constexpr auto kAhead = static_cast<std::int64_t>(kPartitionLookahead);
  std::int64_t i = 0;
  for (; i + kAhead < size; ++i) {
    local.prefetch();
    __builtin_prefetch(bin_of(source[i + kAhead]), 0, 3);
    put(source[i]);
  }
  for (; i < size; ++i) put(source[i]);
  prefetcher = local;
  return left - lefts;
}

inline std::array<std::uint8_t, kBins> table_of(const Split& split) {
  std::array<std::uint8_t, kBins> table;
  for (int bin = 0; bin < kBins; ++bin) table[bin] = split.goes_left(bin) ? 1 : 0;
  return table;
}

template <class Record>
void add_to(NodeSums& sums, std::span<const Record> records) {
  std::int64_t gradient = 0, hessian = 0;
  for (const Record& record : records) {
    hessian += record.hessian;
    if (sums.classes.empty())
      gradient += record.gradient;
    else
      sums.classes[record.gradient] += record.hessian;
  }
  sums.gradient += gradient;
  sums.hessian += hessian;
  sums.count += static_cast<std::int64_t>(records.size());
}

inline void add(NodeSums& to, const NodeSums& what) {
  to.gradient += what.gradient;
  to.hessian += what.hessian;
  to.count += what.count;
  for (std::size_t k = 0; k < to.classes.size(); ++k) to.classes[k] += what.classes[k];
}

// Returns the sums of the rows that go left, if all hessians are 1. `words` is the histogram of the column of the
// split.
inline NodeSums left_sums(const HistogramShape& shape, const std::uint64_t* words,
                          const Split& split) {
  NodeSums sums;
  if (shape.kind == Kind::kClasses) sums.classes.resize(shape.classes);
  for (int bin = 0; bin < kBins; ++bin) {
    if (!split.goes_left(bin)) continue;
    const std::uint64_t* cell = words + static_cast<std::size_t>(bin) * shape.words_per_bin();
    if (shape.kind == Kind::kNarrow) {
      sums.gradient += gradient_of(*cell);
      sums.hessian += hessian_of(*cell);
    } else if (shape.kind == Kind::kWide) {
      sums.gradient += static_cast<std::int64_t>(cell[0]);
      sums.hessian += static_cast<std::int64_t>(cell[1]);
    }
    for (std::size_t k = 0; k < sums.classes.size(); ++k) {
      sums.classes[k] += static_cast<std::int64_t>(cell[k]);
      sums.hessian += static_cast<std::int64_t>(cell[k]);
    }
  }
  sums.count = sums.hessian;
  return sums;
}

inline NodeSums difference(const NodeSums& all, const NodeSums& part) {
  NodeSums rest = {all.gradient - part.gradient, all.hessian - part.hessian, all.count - part.count,
                   all.classes};
  for (std::size_t k = 0; k < rest.classes.size(); ++k) rest.classes[k] -= part.classes[k];
  return rest;
}

}  // namespace tutti::learn::tree
