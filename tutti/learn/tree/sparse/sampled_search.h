// Split of a node of sparse data with columns sampled per node (see column_draw.h).
//
// Two methods draw the same columns. Small nodes list all their slots (slot_sums.h) and order the columns of the list
// by priority. In large nodes that list would be long compared with the columns that are tried, so columns are drawn
// first and summed one by one from the lists of rows per slot.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/grow/growth.h"
#include "tutti/learn/tree/sparse/slot_search.h"

namespace tutti::learn::tree {

// Used by one thread.
template <class Record>
class SampledSearch {
 public:
  SampledSearch(const SparseBinnedData& data, const SplitSearch& search,
                const GrowOptions& options);

  // Whether `search_columns` is faster than listing the slots of so many rows.
  bool is_faster_by_column(std::int64_t rows) const;
  void search_columns(std::span<const Record> rows, GrownNode& node);
  // `sums`: all slots of the node.
  void search_list(const SlotSums& sums, GrownNode& node);

 private:
  double expected_columns(std::int64_t rows) const;
  void sum_column(int column, std::span<const Record> rows);
  void begin(const GrownNode& node) {
    tried_ = 0;
    search_.begin_node(node.sums, node.path);
  }
  bool has_enough(const GrownNode& node) const { return tried_ >= wanted_ && node.split.exists(); }

  const SparseBinnedData& data_;
  SlotSearch search_;
  HistogramShape shape_;
  std::size_t wanted_, tried_ = 0;
  std::vector<int> columns_;  // allowed columns with entries
  // Number of columns with 2^i to 2^(i + 1) - 1 entries.
  std::array<double, 32> columns_by_size_ = {};
  double entries_ = 0;  // of `columns_`
  std::vector<std::uint32_t>
      positions_;  // per row: index in the rows of the node + 1; 0 between calls
  std::vector<std::uint64_t> drawn_;
  SlotSums column_sums_;
};

}  // namespace tutti::learn::tree
