// Reductions over ranks: sums, histograms and best splits. Without a communicator they have no effect.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/tree/bins/sparse_binned_data.h"
#include "tutti/learn/tree/split/split.h"

namespace tutti::comm {
class Communicator;
}

namespace tutti::learn::tree {

class RankExchange {
 public:
  // `is_by_column`: histograms are reduce-scattered, and each rank searches different columns.
  RankExchange(comm::Communicator* communicator, const HistogramShape& shape, int columns,
               bool is_by_column);
  RankExchange(comm::Communicator* communicator, const HistogramShape& shape,
               const SparseBinnedData& data, bool is_by_column);

  // Whether this rank searches the column.
  bool owns(int column) const { return column >= first_column_ && column < end_column_; }
  void reduce(NodeSums& sums) const;
  // Afterwards the histogram contains the global sums of the columns of this rank; other columns are undefined.
  void reduce_scatter(std::uint64_t* histogram) const;
  // The same for the words of all slots of sparse data; all of them are defined if columns are not distributed.
  void reduce_slots(std::uint64_t* words) const;
  // Slots whose sums this rank has after `reduce_slots`.
  SparseBinnedData::SlotRange own_slots() const { return own_slots_; }
  // Reduces the sums of one column on all ranks.
  void reduce_column(std::uint64_t* words) const;
  // Selects the best split of all ranks.
  void choose_best(Split& split) const;

 private:
  void scatter(std::uint64_t* words, std::size_t first) const;

  comm::Communicator* communicator_;
  const HistogramShape& shape_;
  int first_column_ = 0, end_column_ = 0;
  SparseBinnedData::SlotRange own_slots_;
  std::vector<std::int64_t> words_of_ranks_;
};

}  // namespace tutti::learn::tree
