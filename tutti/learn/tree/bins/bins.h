// Quantisation: every column is divided into at most 255 bins once, and trees grow on bytes.
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
// NaN and, in columns of categories, every category that has no bin of its own.
inline constexpr int kMissingBin = 255;

struct ColumnBins {
  bool is_categorical = false;
  bool has_missing = false;  // among the values the bins were found from
  // Numbers: ascending. The bin of x is the number of edges below x, so "bin <= b" is "x <=
  // edges[b]".
  std::vector<double> edges;
  // Categories: the code of each bin, most frequent first.
  std::vector<std::int64_t> codes;
  // Categories: (code, bin), ascending by code.
  std::vector<std::pair<std::int64_t, std::uint8_t>> bin_of_code;

  // Bins of values, without the missing one.
  int count() const { return static_cast<int>(is_categorical ? codes.size() : edges.size() + 1); }
  std::uint8_t bin_of(double value) const;
  void set_codes(std::vector<std::int64_t> most_frequent_first);
};

struct Bins {
  std::vector<ColumnBins> columns;
  bool are_f32 = false;  // every edge is a value of f32
};

// Whether any value is infinite. Lets go what it has read of a mapped matrix.
bool has_infinite(const Matrix& matrix, Threads& threads);

// Edges lie half-way between neighbouring values, at quantiles when there are more values than
// bins. With a communicator `matrix` has this rank's rows and all ranks get the same bins, those of
// one process with all rows in rank order. Throws ConfigError (DDL-9-20) when an option is wrong.
Bins find_bins(const Matrix& matrix, const BinOptions& options, Threads& threads,
               comm::Communicator* communicator = nullptr);

}  // namespace tutti::learn::tree
