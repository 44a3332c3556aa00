// Best split of a node from the sums of its slots.
//
// The rows of a node without a slot of a column have the default bin. Their sums are those of the node minus those of
// the slots, so a column with k slots has k candidate splits, and columns without slots are never visited. Most columns
// of text have one slot. A screen computes the scores directly from the list of slots. Only columns whose score is
// within rounding of the best are searched by SplitSearch, as in dense data, which makes the trees equal.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tutti/learn/tree/sparse/slot_screen.h"

namespace tutti::learn::tree {

// Used by one thread.
class SlotSearch {
 public:
  SlotSearch(const SparseBinnedData& data, const SplitSearch& search);

  // Finds the best split of all columns of the range, which must contain all slots of its columns.
  void search(const SlotSums& sums, SlotGroup range, const NodeSums& node, std::uint64_t random,
              Split& best);

  // Search of columns in any order: `begin_node`, then `try_column` for each. `node` must stay alive. Returns whether
  // the node has at least two different bins of the column.
  void begin_node(const NodeSums& node, std::uint64_t random);
  bool try_column(const SlotSums& sums, SlotGroup group, Split& best);

  // Slots of the column at index `begin` of the list.
  SlotGroup group_at(const SlotSums& sums, std::size_t begin) const;

 private:
  struct Screened {
    SlotGroup group;
    double score;
  };
  bool is_promising(double score);
  void set_defaults(const SlotSums& sums, SlotGroup group);
  void search_column(const SlotSums& sums, SlotGroup group, Split& best);
  void read(const SlotSums& sums, SlotGroup group);
  void add_bin(int bin, const std::uint64_t* words);
  void clear_words();

  const SparseBinnedData& data_;
  const SplitSearch& search_;
  HistogramShape shape_;
  std::size_t words_per_bin_;
  // Of the current node.
  const NodeSums* node_ = nullptr;
  std::uint64_t random_ = 0;
  std::optional<SlotScreen> screen_;
  double highest_ = 0;  // score
  std::vector<Screened> screened_;
  // Of the current column.
  std::vector<std::uint64_t> defaults_;  // words of the default bin
  ColumnSums column_;
  std::vector<std::uint64_t> column_words_;  // kClasses: histogram
};

}  // namespace tutti::learn::tree
