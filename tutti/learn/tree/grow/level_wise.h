// Level-wise growth of the large nodes at the top of a tree.
//
// Rows are divided into blocks of 16,384 consecutive rows. One pass per level processes block by block: within a block
// it partitions the rows of every node of the level, and accumulates those of the smaller child of each split into its
// histogram. The histogram of the sibling is parent minus child. A pass therefore streams the binned matrix once, in
// row order. Partitioning node by node would fetch one cache line per row.
//
// Only 16-bit offsets within the block are moved (15 bits of offset; the top bit holds the class for two-class trees);
// the records stay in place. Nodes of at most kSubtreeRows rows leave the level. When level-wise growth ends, the
// records of each node are gathered into contiguous memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/grow/split_finder.h"
#include "tutti/learn/tree/histogram/class_sums.h"

namespace tutti::learn::tree {

// Adds the children of `parent`; `sums` are those of the left child. The histogram of the parent, from which that of
// the smaller child was subtracted, becomes that of the larger child.
std::array<ExpandEntry, 2> add_pair(std::vector<GrownNode>& nodes, const ExpandEntry& parent,
                                    std::uint64_t* small_histogram, const NodeSums& sums,
                                    std::int64_t left_size);

template <class Record>
class LevelWise {
 public:
  LevelWise(NodeContext<Record>& context, HistogramBuilder<Record>& histograms,
            SplitFinder<Record>& finder);

  // Whether the root needs no records: two classes, unit sample weights, all rows present, and level-wise growth.
  bool reads_classes() const { return are_rows_classes_; }
  // Sums and histogram of the root if reads_classes().
  void sum_classes(GrownNode& root, std::uint64_t* histogram);
  // Splits nodes while level-wise growth is faster. Returns the nodes that are still to be split.
  std::vector<ExpandEntry> expand(std::vector<GrownNode>& nodes, ExpandEntry root);

 private:
  // Range in `order()` with the offsets of the rows of a node in one block.
  struct Segment {
    std::int64_t begin = 0, size = 0;
  };
  using Segments = std::vector<std::vector<Segment>>;  // per node and block
  // A node that is split in a pass over the blocks.
  struct LevelNode {
    std::vector<Segment> segments;
    std::vector<std::int64_t> lefts;  // per block: number of rows that go left
    NodeSums sums;                    // of the left child
    std::array<std::uint8_t, kBins> table;
    const std::uint8_t* bins = nullptr;
    bool left_is_smaller = false;
    std::vector<std::uint64_t*> histograms;  // of the smaller child, one per thread
    std::vector<ClassSums> class_sums;       // not yet added to `histograms`
  };
  // Working memory of one thread.
  struct BlockScratch {
    std::vector<std::uint16_t> rights;
    std::vector<Record> records;
  };
  // Offset of a row within its block; the top bit is the class if are_rows_classes_.
  static constexpr std::uint16_t kLocalRowBits = 0x7fff;
  std::uint16_t* order() const { return reinterpret_cast<std::uint16_t*>(order_.get()); }
  bool can_split_levels(std::int64_t rows) const;
  std::int64_t number_classes(std::size_t block, std::vector<Record>& records);
  void number_rows(std::size_t block);
  Record record_of(std::size_t block, std::uint16_t offset) const;
  std::vector<ExpandEntry> expand_level(std::vector<GrownNode>& nodes,
                                        std::span<const ExpandEntry> parents, Segments& segments);
  void partition_blocks(std::vector<LevelNode>& level, bool is_root);
  const std::uint8_t* bins_of(std::size_t block) const;
  const std::uint8_t* bins_after(std::size_t block) const;
  void partition_segment(LevelNode& node, std::size_t block, std::size_t slot,
                         BlockScratch& scratch, Prefetcher& prefetcher);
  bool needs_rows(const GrownNode& node) const;
  void gather_records(const std::vector<GrownNode>& nodes, const Segments& segments);

  NodeContext<Record>& context_;
  HistogramBuilder<Record>& histograms_;
  SplitFinder<Record>& finder_;
  LargeMemory order_;              // offsets, block by block, during level-wise growth
  bool are_rows_classes_ = false;  // all rows are present and contribute class and 1
};

}  // namespace tutti::learn::tree
