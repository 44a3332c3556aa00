// Options of binning (quantisation).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::learn::tree {

struct BinOptions {
  int max_bins = 255;                    // bins for values, 2 to 255
  std::int64_t sample = 100'000;         // number of rows sampled to find the bins
  std::uint64_t seed = 0;                // of the sample
  std::vector<int> categorical = {};     // categorical columns, with codes 0, 1, 2, ...
  std::span<const double> weights = {};  // sample weights; rows of weight 0 are ignored
  bool keeps_ranges = false;             // store the smallest and largest value of each bin
  bool is_streamed = false;              // release pages of a mapped matrix after reading them
};

}  // namespace tutti::learn::tree
