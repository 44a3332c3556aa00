// Histogram accumulation for two classes and unit sample weights: in 32-bit words (see class_kernel.h) until their
// counters are full, so all columns of a tile stay in the L1 cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/histogram/histogram.h"

namespace tutti::learn::tree {

class ClassSums {
 public:
  static constexpr std::size_t kMaxRows = 65535;  // limited by 16-bit counters

  // Adds rows to `histogram`, which must be kNarrow with one tile and is valid only after `flush`. An offset has the
  // row in the lower 15 bits, with its bins at bins[row * data.stride()], and the class in the top bit. At most
  // kMaxRows per call.
  void add(const BinnedData& data, const std::uint8_t* bins, std::span<const std::uint16_t> offsets,
           std::uint64_t* histogram, Prefetcher& prefetcher);
  void flush(std::uint64_t* histogram);

 private:
  std::vector<std::uint32_t> words_;  // kBins per column
  std::size_t rows_ = 0;
};

}  // namespace tutti::learn::tree
