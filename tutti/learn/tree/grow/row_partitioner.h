// Moves the records of a node to its children, and adds those of the smaller child to its
// histogram.
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

  // Returns how many rows of this rank went left. `left_sums`: their sums over all ranks; null: not
  // wanted. `small_histogram`: of the smaller child, of this rank; null: not wanted.
  std::int64_t partition(const GrownNode& parent, std::uint64_t* small_histogram,
                         NodeSums* left_sums);

 private:
  const NodeContext<Record>& context_;
  HistogramBuilder<Record>& histograms_;
  const RankExchange& exchange_;
  Records<Record> partitioned_;  // of one small node
};

}  // namespace tutti::learn::tree
