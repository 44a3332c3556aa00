#include "tutti/learn/tree/grow/node_expander.h"

#include <type_traits>

#include "tutti/learn/base/hash.h"
#include "tutti/learn/tree/grow/row_partition.h"

// Expansion of one node with a known split:
//
// 1. The sums of the left child are read from the histogram of the split column if it is available on this rank;
//    otherwise the partition computes them.
// 2. RowPartitioner moves the records of the left child to the front and accumulates the histogram of the smaller
//    child. Both are skipped for leaves of the last level whose rows are not needed.
// 3. The histogram is reduced over the ranks and subtracted from that of the parent, which becomes the histogram of the
//    larger child.
// 4. SplitFinder searches the splits of both children. Children without a split are leaves.
namespace tutti::learn::tree {

template <class Record>
NodeExpander<Record>::NodeExpander(const Growth<Record>& growth, Threads* threads)
    : context_(growth, threads),
      exchange_(growth.communicator, growth.search.shape(), growth.data.columns(),
                !context_.samples_columns()),
      histograms_(context_),
      finder_(context_, histograms_, exchange_),
      partitioner_(context_, histograms_, exchange_),
      levels_(context_, histograms_, finder_) {}

template <class Record>
ExpandEntry NodeExpander<Record>::begin(std::vector<GrownNode>& nodes) {
  GrownNode& root = nodes.emplace_back();
  if (reads_classes()) context_.growth.records.resize(context_.data.rows());
  root.end = context_.growth.records.size;
  root.path = context_.growth.root.path != 0 ? context_.growth.root.path
                                             : mix(context_.growth.options.seed);
  root.depth = context_.growth.root.depth;
  ExpandEntry open = {0, nullptr};
  if (!context_.samples_columns() && !context_.uses_records(root))
    open.histogram = histograms_.take();
  if (reads_classes())
    levels_.sum_classes(root, open.histogram);
  else
    histograms_.sum_root(root, open.histogram, exchange_);
  finder_.find(nodes, {&open, 1});
  return open;
}

template <class Record>
void NodeExpander<Record>::grow_subtree(std::vector<GrownNode>& nodes, ExpandEntry root) {
  if constexpr (std::is_same_v<Record, NarrowRecord>)
    if (ClassSubtree::suits(context_.growth, nodes[0])) {
      if (!class_subtree_) class_subtree_.emplace(context_.growth);
      class_subtree_->grow(nodes, root.histogram);
      return;
    }
  grow_depth_first(*this, nodes, root);
}

template <class Record>
std::vector<ExpandEntry> NodeExpander<Record>::expand(std::vector<GrownNode>& nodes,
                                                      ExpandEntry parent) {
  const int depth = nodes[parent.index].depth + 1;
  const bool is_last =
      context_.growth.options.max_depth > 0 && depth >= context_.growth.options.max_depth;
  const GrownNode& above = nodes[parent.index];
  const bool is_partitioned = !is_last || context_.growth.options.keeps_last_rows ||
                              parent.histogram == nullptr ||
                              context_.growth.communicator != nullptr;
  NodeSums sums;
  std::int64_t left_size = 0;
  const bool are_known = parent.histogram != nullptr && context_.growth.communicator == nullptr;
  if (are_known)
    sums = left_sums(histograms_.shape(), histograms_.column(parent.histogram, above.split.column),
                     above.split);
  if (is_last) drop(parent);
  std::uint64_t* small_histogram = parent.histogram != nullptr ? histograms_.take() : nullptr;
  if (is_partitioned)
    left_size = partitioner_.partition(above, small_histogram, are_known ? nullptr : &sums);
  if (is_partitioned && are_known) sums.count = left_size;
  if (small_histogram != nullptr) {
    exchange_.reduce_scatter(small_histogram);
    histograms_.subtract(parent.histogram, small_histogram);
  }
  const auto both = add_pair(nodes, parent, small_histogram, sums, left_size);
  std::vector<ExpandEntry> children(both.begin(), both.end());
  finder_.find(nodes, children);
  std::erase_if(children,
                [&](const ExpandEntry& open) { return !nodes[open.index].split.exists(); });
  return children;
}

template class NodeExpander<NarrowRecord>;
template class NodeExpander<WideRecord>;

}  // namespace tutti::learn::tree
