// Moves the records of a node to its children, and adds those of the smaller child to its
// histogram.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tutti/learn/tree/grow/histogram_builder.h"

namespace tutti::learn::tree {

template <class Record>
class RowPartitioner {
 public:
  RowPartitioner(NodeContext<Record>& context, HistogramBuilder<Record>& histograms,
                 const RankExchange& exchange)
      : context_(context), histograms_(histograms), exchange_(exchange) {}

  // Returns how many rows of this rank went left. `left_sums`: their sums over all ranks; null: not
  // wanted. `small_histogram`: of the smaller child, of this rank; null: not wanted.
  std::int64_t partition(const GrownNode& parent, std::uint64_t* small_histogram,
                         NodeSums* left_sums);

  // Before and after a subtree that one thread grows: in between the context's data is a copy of
  // the subtree's rows, where copying them is worthwhile, and its records count rows of that copy.
  void enter(const GrownNode& root);
  void leave(const GrownNode& root);

 private:
  NodeContext<Record>& context_;
  HistogramBuilder<Record>& histograms_;
  const RankExchange& exchange_;
  std::optional<BinnedData> copy_;
  std::vector<std::uint32_t> originals_;  // row of the data for each row of the copy
  Records<Record> partitioned_;           // of one small node
};

}  // namespace tutti::learn::tree
