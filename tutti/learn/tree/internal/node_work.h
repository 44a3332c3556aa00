// What is done to one node at a time: sum its rows, look for its split, part its rows.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tutti/learn/tree/internal/grow_orders.h"
#include "tutti/learn/tree/internal/grower.h"
#include "tutti/learn/tree/internal/histogram_pool.h"

namespace tutti::learn::tree {

// With `threads` all of them work on each step, without this is serial and may run beside others
// that work on other nodes.
template <class Record>
class NodeWork {
 public:
  NodeWork(const Growth<Record>& growth, Threads* threads);

  // The root with its sums and, where it needs one, histogram and split.
  OpenNode begin(std::vector<GrownNode>& nodes);
  // Uses the split of `parent`: adds its children, with their splits, and returns those that have
  // one. The parent's histogram goes over to a child or back to the pool.
  std::vector<OpenNode> expand(std::vector<GrownNode>& nodes, OpenNode parent);
  void find_splits(std::vector<GrownNode>& nodes, std::span<OpenNode> open);
  void drop(OpenNode& open);
  // Before and after a subtree that one thread grows: meanwhile the bins of its rows lie together,
  // where that pays, and its records count rows of that copy.
  void enter(const GrownNode& root);
  void leave(const GrownNode& root);

  bool draws_columns() const { return growth_.options.columns_per_node > 0; }

 private:
  using Body = std::function<void(std::size_t slot, std::int64_t part)>;
  void run(std::int64_t parts, const Body& body);
  bool may_split(const GrownNode& node) const;
  bool uses_records(const GrownNode& node) const;
  std::vector<std::uint64_t*> slot_histograms(std::uint64_t* target, std::int64_t parts);
  void merge(std::span<std::uint64_t* const> histograms);
  void add_rows_of(std::span<const Record> rows, std::uint64_t* histogram);
  void sum_root(GrownNode& root, std::uint64_t* histogram);
  // Returns how many rows of this rank went left, and what these add up to unless it is known.
  std::int64_t part(const GrownNode& parent, std::uint64_t* small_histogram, NodeSums* left_sums);
  void subtract(std::uint64_t* from, const std::uint64_t* what);
  void share_sums(NodeSums& sums);
  void share_histogram(std::uint64_t* histogram);
  void share_split(Split& split);
  void search_histograms(std::vector<GrownNode>& nodes, std::span<const OpenNode> open);
  void search_records(GrownNode& node);
  void search_drawn(GrownNode& node);
  void try_drawn(GrownNode& node, std::span<const int> columns, std::uint64_t* histogram,
                 int& tried);

  const Growth<Record>& growth_;
  const BinnedData* data_;  // that of the growth, or the copy
  const HistogramShape& shape_;
  Threads* threads_;
  std::size_t slots_;
  HistogramPool pool_;
  std::vector<std::uint64_t> zeros_;  // for RecordSums
  bool has_all_columns_;
  int first_column_ = 0, end_column_ = 0;  // whose sums this rank gets
  std::vector<std::int64_t> words_of_ranks_;
  std::optional<BinnedData> copy_;
  std::vector<std::uint32_t> originals_;  // of the rows of the copy
};

}  // namespace tutti::learn::tree
