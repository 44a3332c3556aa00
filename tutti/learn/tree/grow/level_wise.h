// Growth level by level, for nodes of many rows.
//
// The rows are divided into blocks of consecutive rows. A pass takes block after block and
// partitions, within the block, the rows of every node of the level; those of the smaller children
// are added to their histograms. A pass therefore reads the bins of all rows once and in order,
// where partitioning one node after the other fetches a cache line for each row. What is
// partitioned are offsets within the block, of two bytes: the records stay where they are. Once
// nodes are small, the records of each are gathered.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/grow/split_finder.h"
#include "tutti/learn/tree/histogram/class_sums.h"

namespace tutti::learn::tree {

// Adds the children of `parent`; `sums` are the left one's. The parent's histogram, from which the
// smaller child's was subtracted, passes to the larger.
std::array<ExpandEntry, 2> add_pair(std::vector<GrownNode>& nodes, const ExpandEntry& parent,
                                    std::uint64_t* small_histogram, const NodeSums& sums,
                                    std::int64_t left_size);

template <class Record>
class LevelWise {
 public:
  LevelWise(NodeContext<Record>& context, HistogramBuilder<Record>& histograms,
            SplitFinder<Record>& finder);

  // Whether the root needs no records: rows that weigh one each and have one of two classes, all of
  // which are there, and whose nodes are split level by level.
  bool reads_classes() const { return are_rows_classes_; }
  // Sums and histogram of the root, when it reads classes.
  void sum_classes(GrownNode& root, std::uint64_t* histogram);
  // Splits nodes as long as this is faster than one by one. Returns those that are left to split.
  std::vector<ExpandEntry> expand(std::vector<GrownNode>& nodes, ExpandEntry root);

 private:
  // The offsets, in `order()`, of the rows of a node in one block.
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
  // A row's offset within a block; the other bit is its class where rows are classes.
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
                         BlockScratch& scratch, Ahead& ahead);
  bool needs_rows(const GrownNode& node) const;
  void gather_records(const std::vector<GrownNode>& nodes, const Segments& segments);

  NodeContext<Record>& context_;
  HistogramBuilder<Record>& histograms_;
  SplitFinder<Record>& finder_;
  LargeMemory order_;              // offsets, block by block, while levels are split
  bool are_rows_classes_ = false;  // every row is there, and adds its class and 1
};

}  // namespace tutti::learn::tree
