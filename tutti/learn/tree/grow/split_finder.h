// Search for the best split of nodes: in histograms, in the records of small nodes, or in sampled columns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/grow/grow_policy.h"
#include "tutti/learn/tree/grow/histogram_builder.h"

namespace tutti::learn::tree {

template <class Record>
class SplitFinder {
 public:
  SplitFinder(const NodeContext<Record>& context, HistogramBuilder<Record>& histograms,
              const RankExchange& exchange);

  // Finds the splits of the `open` nodes. Afterwards nodes that will not be split have neither split nor histogram.
  void find(std::vector<GrownNode>& nodes, std::span<ExpandEntry> open);
  // Returns the histogram to the pool.
  void drop(ExpandEntry& open);

 private:
  bool has_different_labels(std::int32_t index, const GrownNode& node) const;
  void search_histograms(std::vector<GrownNode>& nodes, std::span<const ExpandEntry> open);
  void search_records(GrownNode& node);
  void search_sampled(GrownNode& node);
  void try_sampled(GrownNode& node, std::span<const int> columns, std::uint64_t* histogram,
                   int& tried);

  const NodeContext<Record>& context_;
  HistogramBuilder<Record>& histograms_;
  const RankExchange& exchange_;
  std::vector<std::uint64_t> zeros_;  // for RecordSums
};

}  // namespace tutti::learn::tree
