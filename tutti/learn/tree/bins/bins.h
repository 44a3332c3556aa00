// Quantile bins: each column is divided into at most 255 bins once, and trees grow on bytes.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/tree/bins/bin_options.h"

namespace tutti::comm {
class Communicator;
}

namespace tutti::learn::tree {

inline constexpr int kBins = 256;
// Bin of NaN and, in categorical columns, of categories without a separate bin.
inline constexpr int kMissingBin = 255;

struct ColumnBins {
  bool is_categorical = false;
  bool has_missing = false;  // among the sampled values
  // Numeric columns: ascending edges. The bin of x is the number of edges below x, so "bin <= b" means "x <= edges[b]".
  std::vector<double> edges;
  // Numeric columns: smallest and largest sampled value of each bin, if `keeps_ranges`.
  std::vector<double> smallest, largest;
  // Categorical columns: the code of each bin, most frequent first.
  std::vector<std::int64_t> codes;
  // Categorical columns: (code, bin), ascending by code.
  std::vector<std::pair<std::int64_t, std::uint8_t>> bin_of_code;

  // Number of bins, without the missing bin.
  int count() const { return static_cast<int>(is_categorical ? codes.size() : edges.size() + 1); }
  std::uint8_t bin_of(double value) const;
  void set_codes(std::vector<std::int64_t> most_frequent_first);
};

struct Bins {
  std::vector<ColumnBins> columns;
  bool are_f32 = false;  // every edge is representable in f32
};

// Returns whether any value is infinite. Releases the pages of a mapped matrix after reading.
bool has_infinite(const Matrix& matrix, Threads& threads);

// Edges are midpoints between adjacent values, at quantiles if there are more distinct values than bins. With a
// communicator, `matrix` has the rows of this rank; all ranks get the bins of a single process with all rows in rank
// order. Throws ConfigError (DDL-9-20) for invalid options.
Bins find_bins(const Matrix& matrix, const BinOptions& options, Threads& threads,
               comm::Communicator* communicator = nullptr);

}  // namespace tutti::learn::tree
