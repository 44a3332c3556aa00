// Expansion of nodes: sums their rows, finds their splits and partitions their rows.
#pragma once

#include <optional>
#include <vector>

#include "tutti/learn/tree/grow/class_subtree.h"
#include "tutti/learn/tree/grow/level_wise.h"
#include "tutti/learn/tree/grow/row_partitioner.h"

namespace tutti::learn::tree {

// With `threads` all threads work on each step. Without, it is serial and may run in parallel with other expanders on
// other nodes.
template <class Record>
class NodeExpander {
 public:
  NodeExpander(const Growth<Record>& growth, Threads* threads);
  NodeExpander(const NodeExpander&) = delete;  // members refer to each other
  NodeExpander& operator=(const NodeExpander&) = delete;

  // Creates the root with its sums and, if needed, histogram and split.
  ExpandEntry begin(std::vector<GrownNode>& nodes);
  // Applies the split of `parent`: adds its children with their splits, and returns those that have one. The histogram
  // of the parent becomes that of a child or returns to the pool.
  std::vector<ExpandEntry> expand(std::vector<GrownNode>& nodes, ExpandEntry parent);
  // Splits large nodes level by level while that is faster. Returns the nodes that are still to be split.
  std::vector<ExpandEntry> expand_level_wise(std::vector<GrownNode>& nodes, ExpandEntry root) {
    return levels_.expand(nodes, root);
  }
  void drop(ExpandEntry& open) { finder_.drop(open); }
  // Grows the subtree below nodes[0], whose split is known.
  void grow_subtree(std::vector<GrownNode>& nodes, ExpandEntry root);

  // Whether `begin` reads the source directly, without records.
  bool reads_classes() const { return levels_.reads_classes(); }

 private:
  NodeContext<Record> context_;
  RankExchange exchange_;
  HistogramBuilder<Record> histograms_;
  SplitFinder<Record> finder_;
  RowPartitioner<Record> partitioner_;
  LevelWise<Record> levels_;
  std::optional<ClassSubtree> class_subtree_;
};

}  // namespace tutti::learn::tree
