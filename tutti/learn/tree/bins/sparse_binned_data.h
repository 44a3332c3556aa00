// Binned sparse matrix for data with few entries per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/bins/bins.h"

namespace tutti::learn::tree {

// A *slot* is a bin of a column that occurs in the data of any rank and is not the default bin of the column, which is
// the bin of 0. Slots are numbered by column, then by bin. Rows store the slots of their entries and nothing for
// default bins, so memory is 8 bytes per entry, and most columns of text have one or two slots instead of 256 bins.
class SparseBinnedData {
 public:
  using Slot = std::uint32_t;
  struct SlotRange {
    Slot begin = 0, end = 0;
  };

  // Throws ConfigError (DDL-9-21) if the columns of the matrix do not match `bins`. With a communicator each rank
  // passes its rows; all ranks number the slots alike.
  SparseBinnedData(const Matrix& matrix, const Bins& bins, Threads& threads,
                   comm::Communicator* communicator);

  std::int64_t rows() const { return static_cast<std::int64_t>(row_offsets_.size()) - 1; }
  int columns() const { return static_cast<int>(column_slots_.size()) - 1; }
  std::size_t slots() const { return bins_.size(); }
  std::size_t entries() const { return row_slots_.size(); }

  // Slots of a row, ascending.
  std::span<const Slot> row(std::uint32_t index) const {
    return {row_slots_.data() + row_offsets_[index], row_slots_.data() + row_offsets_[index + 1]};
  }
  // Rows that contain the slot, ascending.
  std::span<const std::uint32_t> rows_of(Slot slot) const {
    return {slot_rows_.data() + slot_offsets_[slot], slot_rows_.data() + slot_offsets_[slot + 1]};
  }
  SlotRange slots_of(int column) const {
    return {column_slots_[column], column_slots_[static_cast<std::size_t>(column) + 1]};
  }
  // Number of rows with a slot of the column.
  std::size_t entries_of(int column) const {
    const SlotRange range = slots_of(column);
    return slot_offsets_[range.end] - slot_offsets_[range.begin];
  }
  int column_of(Slot slot) const { return columns_[slot]; }
  std::uint8_t bin_of(Slot slot) const { return bins_[slot]; }
  std::uint8_t default_bin(int column) const { return default_bins_[column]; }
  // Bin of a row and column.
  std::uint8_t at(std::uint32_t row_index, int column) const;

 private:
  struct Encoder;
  void number_slots(const Encoder& encoder, const std::vector<std::uint8_t>& is_used);
  void store_rows(const Matrix& matrix, const Encoder& encoder,
                  const std::vector<std::uint8_t>& entry_bins, Threads& threads);
  void store_slots(Threads& threads);

  std::vector<std::size_t> row_offsets_, slot_offsets_;
  std::vector<Slot> row_slots_;
  std::vector<std::uint32_t> slot_rows_;
  std::vector<Slot> column_slots_;  // first slot of each column, and the end
  std::vector<std::int32_t> columns_;
  std::vector<std::uint8_t> bins_, default_bins_;
};

// Returns whether trees of this matrix grow faster on SparseBinnedData than on BinnedData. Collective if there is a
// communicator; all ranks return the same.
bool suits_sparse_bins(const Matrix& matrix, comm::Communicator* communicator);

}  // namespace tutti::learn::tree
