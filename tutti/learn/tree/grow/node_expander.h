// What is done to one node at a time: sum its rows, look for its split, part its rows.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tutti/learn/tree/grow/class_subtree.h"
#include "tutti/learn/tree/grow/grow_policy.h"
#include "tutti/learn/tree/grow/grower.h"
#include "tutti/learn/tree/histogram/class_sums.h"
#include "tutti/learn/tree/histogram/histogram_pool.h"

namespace tutti::learn::tree {

// With `threads` all of them work on each step, without this is serial and may run beside others
// that work on other nodes.
template <class Record>
class NodeExpander {
 public:
  NodeExpander(const Growth<Record>& growth, Threads* threads);

  // The root with its sums and, where it needs one, histogram and split.
  ExpandEntry begin(std::vector<GrownNode>& nodes);
  // Uses the split of `parent`: adds its children, with their splits, and returns those that have
  // one. The parent's histogram goes over to a child or back to the pool.
  std::vector<ExpandEntry> expand(std::vector<GrownNode>& nodes, ExpandEntry parent);
  // Splits large nodes in another way, as far as that is faster (node_levels.cc). Returns those
  // that are left to split.
  std::vector<ExpandEntry> expand_level_wise(std::vector<GrownNode>& nodes, ExpandEntry root);
  void find_splits(std::vector<GrownNode>& nodes, std::span<ExpandEntry> open);
  void drop(ExpandEntry& open);
  // Grows all that lies below nodes[0], whose split is known.
  void grow_subtree(std::vector<GrownNode>& nodes, ExpandEntry root);

  // Whether `begin` makes all it needs of the source: rows that weigh one each and have one of two
  // classes, and whose nodes are split level by level.
  bool reads_classes() const { return are_rows_classes_; }
  bool samples_columns() const { return growth_.options.columns_per_node > 0; }

 private:
  // The places, in `order()`, of the rows of a node that lie in one block.
  struct Segment {
    std::int64_t begin = 0, size = 0;
  };
  using Segments = std::vector<std::vector<Segment>>;  // of each node, in each block
  // A node that is split in a pass over blocks.
  struct LevelNode {
    std::vector<Segment> segments;
    std::vector<std::int64_t> lefts;  // rows of each block that go left
    NodeSums sums;                    // of these
    std::array<std::uint8_t, kBins> table;
    const std::uint8_t* bins = nullptr;
    bool left_is_smaller = false;
    std::vector<std::uint64_t*> histograms;  // of the smaller child, one for each thread
    std::vector<ClassSums> class_sums;       // not yet in these
  };
  // Memory of one thread for a block.
  struct BlockScratch {
    std::vector<std::uint16_t> rights;
    std::vector<Record> records;
  };
  // A place in a block, with the class of the row where that is all there is to know of it.
  static constexpr std::uint16_t kLocalRowBits = 0x7fff;
  std::uint16_t* order() const { return reinterpret_cast<std::uint16_t*>(order_.get()); }
  bool can_split_levels(std::int64_t rows) const;
  void sum_classes(GrownNode& root, std::uint64_t* histogram);
  std::int64_t number_classes(std::size_t block, std::vector<Record>& records);
  void number_rows(std::size_t block);
  Record record_of(std::size_t block, std::uint16_t place) const;
  std::vector<ExpandEntry> expand_level(std::vector<GrownNode>& nodes,
                                        std::span<const ExpandEntry> parents, Segments& segments);
  void partition_blocks(std::vector<LevelNode>& level, bool is_root);
  const std::uint8_t* bins_of(std::size_t block) const;
  const std::uint8_t* bins_after(std::size_t block) const;
  void partition_segment(LevelNode& node, std::size_t block, std::size_t slot,
                         BlockScratch& scratch, Ahead& ahead);
  bool needs_rows(const GrownNode& node) const;
  void gather_records(const std::vector<GrownNode>& nodes, const Segments& segments);
  // Adds the children of `parent`; `sums` are the left one's. The parent's histogram, from which
  // the smaller child's was taken, goes over to the larger.
  std::array<ExpandEntry, 2> add_pair(std::vector<GrownNode>& nodes, const ExpandEntry& parent,
                                      std::uint64_t* small_histogram, const NodeSums& sums,
                                      std::int64_t left_size);

  // Before and after a subtree that one thread grows: meanwhile the bins of its rows lie together,
  // where that pays, and its records count rows of that copy.
  void enter(const GrownNode& root);
  void leave(const GrownNode& root);

  using Body = std::function<void(std::size_t slot, std::int64_t part)>;
  void run(std::int64_t parts, const Body& body);
  bool may_split(const GrownNode& node) const;
  bool uses_records(const GrownNode& node) const;
  std::vector<std::uint64_t*> slot_histograms(std::uint64_t* target, std::int64_t parts);
  void merge(std::span<std::uint64_t* const> histograms);
  void add_rows_of(std::span<const Record> rows, std::uint64_t* histogram, Ahead* ahead = nullptr);
  void sum_root(GrownNode& root, std::uint64_t* histogram);
  // Returns how many rows of this rank went left, and what these add up to unless it is known.
  std::int64_t part(const GrownNode& parent, std::uint64_t* small_histogram, NodeSums* left_sums);
  void subtract(std::uint64_t* from, const std::uint64_t* what);
  void share_sums(NodeSums& sums);
  void share_histogram(std::uint64_t* histogram);
  void share_split(Split& split);
  void search_histograms(std::vector<GrownNode>& nodes, std::span<const ExpandEntry> open);
  void search_records(GrownNode& node);
  void search_sampled(GrownNode& node);
  void try_sampled(GrownNode& node, std::span<const int> columns, std::uint64_t* histogram,
                   int& tried);

  const Growth<Record>& growth_;
  const BinnedData* data_;  // that of the growth, or the copy
  const HistogramShape& shape_;
  Threads* threads_;
  std::size_t slots_;
  HistogramPool pool_;
  std::vector<std::uint64_t> zeros_;  // for RecordSums
  bool has_all_columns_;
  bool records_are_contiguous_ = true;  // those of each node, not yet while large nodes are split
  int first_column_ = 0, end_column_ = 0;  // whose sums this rank gets
  std::vector<std::int64_t> words_of_ranks_;
  std::optional<BinnedData> copy_;
  std::vector<std::uint32_t> originals_;  // of the rows of the copy
  LargeMemory order_;                     // while large nodes are split: places, block by block
  bool are_rows_classes_ = false;         // every row is there, and adds its class and 1
  Records<Record> partitioned_;           // of one node of a subtree
  std::optional<ClassSubtree> class_subtree_;
};

}  // namespace tutti::learn::tree
