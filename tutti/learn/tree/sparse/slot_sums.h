// Histograms of sparse binned data: sums per slot instead of per column and bin.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/bins/sparse_binned_data.h"
#include "tutti/learn/tree/histogram/histogram.h"

namespace tutti::learn::tree {

// Sums of the slots that occur in the rows of a node. Slots without a sum are dropped, so small nodes have short
// lists.
struct SlotSums {
  std::vector<SparseBinnedData::Slot> slots;  // ascending
  std::vector<std::uint64_t> words;           // words_per_bin() of each slot, as in a histogram

  // Subtracts the sums of a part of the rows. Slots whose sums become 0 are removed.
  void subtract(const SlotSums& part, std::size_t words_per_bin);
};

// Adds a row to the words of a slot.
inline void add_to_cell(const HistogramShape&, const NarrowRecord& record, std::uint64_t* cell) {
  *cell += pack(record.gradient, record.hessian);
}
inline void add_to_cell(const HistogramShape& shape, const WideRecord& record,
                        std::uint64_t* cell) {
  if (shape.kind == Kind::kWide) {
    cell[0] += static_cast<std::uint64_t>(record.gradient);
    cell[1] += record.hessian;
  } else {
    cell[record.gradient] += record.hessian;
  }
  if (shape.counts_rows) ++cell[shape.sums_per_bin()];
}

// Sums rows in an array with the words of all slots, which is zero between calls. It notes the slots of few rows in a
// bitmap, to find them again without reading the whole array. Used by one thread.
class SlotAccumulator {
 public:
  SlotAccumulator(const SparseBinnedData& data, const HistogramShape& shape);

  template <class Record>
  void add(std::span<const Record> rows);
  // Adds the sums of another accumulator to the slots [begin, end), and clears them there.
  void merge(SlotAccumulator& other, std::size_t begin, std::size_t end);
  // Words of all slots, for reductions over ranks. `take` may be called after writing.
  std::span<std::uint64_t> all_words();
  // Moves the non-zero sums of the slots [begin, end) to `sums`; all others are cleared. Slots of columns for which
  // `is_allowed`, unless it is empty, is 0 are dropped.
  void take(SparseBinnedData::SlotRange range, std::span<const char> is_allowed, SlotSums& sums);

 private:
  template <class Record, bool kMarks>
  void add_rows(std::span<const Record> rows);
  template <std::size_t kWords>
  void take_slot(std::size_t slot, std::span<const char> is_allowed, SlotSums& sums);
  template <std::size_t kWords>
  void take_all(SparseBinnedData::SlotRange range, std::span<const char> is_allowed,
                SlotSums& sums);
  template <std::size_t kWords>
  void take_marked(std::span<const char> is_allowed, SlotSums& sums);

  const SparseBinnedData& data_;
  HistogramShape shape_;
  std::size_t words_per_bin_;
  std::vector<std::uint64_t> words_;
  // One bit per slot, and one bit per word of `marks_`. Unused if all_are_marked_.
  std::vector<std::uint64_t> marks_, marked_words_;
  bool all_are_marked_ = false;
};

}  // namespace tutti::learn::tree
