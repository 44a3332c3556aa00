// Sums of many rows of two classes that weigh one each: in words of 32 bits (see class_kernel.h) as
// long as these can count them, so that all columns of a tile stay in the first cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/histogram/histogram.h"

namespace tutti::learn::tree {

class ClassSums {
 public:
  static constexpr std::size_t kMostRows = 65535;  // counted in 16 bits

  // Adds rows to those of `histogram`, of kNarrow and one tile; what it has then is known only
  // after `flush`. A place is a row in the lower 15 bits, whose bins are at
  // bins[row * data.stride()], and its class in the highest. At most kMostRows at a time.
  void add(const BinnedData& data, const std::uint8_t* bins, std::span<const std::uint16_t> offsets,
           std::uint64_t* histogram, Ahead& ahead);
  void flush(std::uint64_t* histogram);

 private:
  std::vector<std::uint32_t> words_;  // kBins for each column
  std::size_t rows_ = 0;
};

}  // namespace tutti::learn::tree
