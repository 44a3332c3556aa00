// Partition of the records of a node, and the histogram of its smaller child.
#pragma once

#include <cstdint>

#include "tutti/learn/tree/grow/histogram_builder.h"

namespace tutti::learn::tree {

template <class Record>
class RowPartitioner {
 public:
  RowPartitioner(const NodeContext<Record>& context, HistogramBuilder<Record>& histograms,
                 const RankExchange& exchange)
      : context_(context), histograms_(histograms), exchange_(exchange) {}

  // Returns the number of rows of this rank that go left. `left_sums` receives their sums over all ranks,
  // `small_histogram` the histogram of the smaller child on this rank; both may be null.
  std::int64_t partition(const GrownNode& parent, std::uint64_t* small_histogram,
                         NodeSums* left_sums);

 private:
  const NodeContext<Record>& context_;
  HistogramBuilder<Record>& histograms_;
  const RankExchange& exchange_;
  Records<Record> partitioned_;  // for one small node
};

}  // namespace tutti::learn::tree
