// One column of one node: the bins that hold rows, with their sums.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tutti/learn/tree/histogram/histogram.h"

namespace tutti::learn::tree {

struct ColumnSums {
  static constexpr std::size_t kRoom = kBins + 16;  // vectors read a little beyond the end

  int size = 0;
  std::array<std::int64_t, kRoom> bins;                 // ascending
  std::array<std::int64_t, kRoom> gradients, hessians;  // in units of the sums
  std::int64_t missing_gradient = 0, missing_hessian = 0;
  const std::uint64_t* words = nullptr;  // those of bin 0: weights of classes are read from here

  bool has_missing() const { return missing_gradient != 0 || missing_hessian != 0; }
  // Whether there is anything to tell apart.
  bool can_be_split() const { return size > 1 || (size == 1 && has_missing()); }
};

struct SumScales {
  double gradient = 1, hessian = 1;  // one unit of the sums, in the data's unit
};

// From a histogram; `words` are those of the column, `bins` how many of values it has.
void read_histogram(const HistogramShape& shape, const std::uint64_t* words, int bins,
                    ColumnSums& sums);

// From the rows themselves: for nodes with so few that most bins are empty. `scratch` holds
// words_per_column zeros; `clear` makes them zeros again when the sums are no longer needed.
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
  std::array<std::uint64_t, 4> used_ = {};  // one bit for each bin
};

}  // namespace tutti::learn::tree
