// Options of quantisation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::learn::tree {

struct BinOptions {
  int max_bins = 255;                    // of values, 2 to 255
  std::int64_t sample = 100'000;         // rows to look at; all when there are fewer
  std::uint64_t seed = 0;                // which rows
  std::vector<int> categorical = {};     // columns whose values are codes 0, 1, 2, ...
  std::span<const double> weights = {};  // rows that weigh 0 are not looked at
  bool is_streamed = false;              // lets go what it has read of a mapped matrix
};

}  // namespace tutti::learn::tree
