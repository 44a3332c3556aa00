// Non-empty bins of one column of a node, with their sums.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tutti/learn/tree/histogram/histogram.h"

namespace tutti::learn::tree {

struct ColumnSums {
  static constexpr std::size_t kRoom = kBins + 16;  // vectors read beyond the end

  int size = 0;
  std::array<std::int64_t, kRoom> bins;                 // ascending
  std::array<std::int64_t, kRoom> gradients, hessians;  // in units of the sums
  std::array<std::int64_t, kRoom> counts;               // of rows; only with `counts_rows`
  std::int64_t missing_gradient = 0, missing_hessian = 0, missing_count = 0;
  const std::uint64_t* words = nullptr;  // words of bin 0, from which class weights are read

  bool has_missing() const {
    return missing_gradient != 0 || missing_hessian != 0 || missing_count != 0;
  }
  // Whether the node has at least two different values of the column.
  bool can_be_split() const { return size > 1 || (size == 1 && has_missing()); }
};

struct SumScales {
  double gradient = 1, hessian = 1;  // value of one unit of the integer sums
};

// Reads a histogram; `words` is that of the column, `bins` its number of value bins.
void read_histogram(const HistogramShape& shape, const std::uint64_t* words, int bins,
                    ColumnSums& sums);

// Sums the rows directly, for nodes with so few rows that most bins are empty. `scratch` must contain words_per_column
// zeros; `clear` zeroes them again.
class RecordSums {
 public:
  RecordSums(const HistogramShape& shape, std::uint64_t* scratch)
      : shape_(shape), scratch_(scratch) {}

  template <class Record>
  void read(const BinnedData& data, int column, std::span<const Record> records, ColumnSums& sums);
  void clear();

 private:
  HistogramShape shape_;
  std::uint64_t* scratch_;
  std::array<std::uint64_t, 4> used_ = {};  // one bit per bin
};

}  // namespace tutti::learn::tree
