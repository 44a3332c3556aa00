#include "tutti/learn/tree/bins/sparse_binned_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "tutti/comm/communicator.h"
#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn::tree {
namespace {

constexpr std::int64_t kRows = 4096;  // per task

double number_at(const Matrix& matrix, std::int64_t row, std::int64_t at) {
  return matrix.dtype == DType::kF32 ? static_cast<double>(value_at<float>(matrix, row, at))
                                     : value_at<double>(matrix, row, at);
}

}  // namespace

// Edges of all columns in one array: those of a column are few, and a vector per column would cost a cache miss each.
// A *code* is a bin of a column, numbered over all columns.
struct SparseBinnedData::Encoder {
  explicit Encoder(const Bins& all) : bins(all), first_edges(1), first_codes(1) {
    for (const ColumnBins& column : all.columns) {
      edges.insert(edges.end(), column.edges.begin(), column.edges.end());
      first_edges.push_back(edges.size());
      first_codes.push_back(first_codes.back() + static_cast<std::size_t>(column.count()) + 1);
    }
  }
  std::uint8_t bin_of(std::size_t column, double value) const {
    if (std::isnan(value) || bins.columns[column].is_categorical)
      return bins.columns[column].bin_of(value);
    const auto begin = edges.begin() + static_cast<std::ptrdiff_t>(first_edges[column]);
    const auto end = edges.begin() + static_cast<std::ptrdiff_t>(first_edges[column + 1]);
    return static_cast<std::uint8_t>(std::lower_bound(begin, end, value) - begin);
  }
  std::size_t code_of(std::size_t column, std::uint8_t bin) const {
    return bin == kMissingBin ? first_codes[column + 1] - 1 : first_codes[column] + bin;
  }
  std::size_t codes() const { return first_codes.back(); }

  const Bins& bins;
  std::vector<double> edges;
  std::vector<std::size_t> first_edges, first_codes;
};

SparseBinnedData::SparseBinnedData(const Matrix& matrix, const Bins& bins, Threads& threads,
                                   comm::Communicator* communicator) {
  if (matrix.columns != static_cast<std::int64_t>(bins.columns.size()))
    throw ConfigError("DDL-9-21", fmt::format("the data has {} columns, the model has {}.",
                                              matrix.columns, bins.columns.size()));
  const Matrix by_rows = to_storage(matrix, Storage::kCsr, threads);
  const Encoder encoder(bins);
  std::vector<std::uint8_t> entry_bins(static_cast<std::size_t>(by_rows.entries()));
  std::vector<std::uint8_t> is_used(encoder.codes());
  threads.for_range(by_rows.rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t at = by_rows.offsets[row]; at < by_rows.offsets[row + 1]; ++at) {
        const auto column = static_cast<std::size_t>(by_rows.indices[at]);
        entry_bins[at] = encoder.bin_of(column, number_at(by_rows, row, at));
        std::atomic_ref(is_used[encoder.code_of(column, entry_bins[at])])
            .store(1, std::memory_order_relaxed);
      }
  });
  if (communicator != nullptr)
    communicator->all_reduce(Buffer::of<std::uint8_t>(is_used), ReduceOp::kMax);
  number_slots(encoder, is_used);
  store_rows(by_rows, encoder, entry_bins, threads);
  store_slots(threads);
}

void SparseBinnedData::number_slots(const Encoder& encoder,
                                    const std::vector<std::uint8_t>& is_used) {
  const auto columns = encoder.bins.columns.size();
  column_slots_.push_back(0);
  for (std::size_t column = 0; column < columns; ++column) {
    default_bins_.push_back(encoder.bin_of(column, 0.0));
    const std::size_t first = encoder.first_codes[column], end = encoder.first_codes[column + 1];
    for (std::size_t code = first; code < end; ++code) {
      const auto bin = static_cast<std::uint8_t>(code + 1 == end ? kMissingBin : code - first);
      if (is_used[code] == 0 || bin == default_bins_[column]) continue;
      columns_.push_back(static_cast<std::int32_t>(column));
      bins_.push_back(bin);
    }
    column_slots_.push_back(static_cast<Slot>(bins_.size()));
  }
}

void SparseBinnedData::store_rows(const Matrix& matrix, const Encoder& encoder,
                                  const std::vector<std::uint8_t>& entry_bins, Threads& threads) {
  std::vector<Slot> slot_of_code(encoder.codes());
  for (std::size_t slot = 0; slot < slots(); ++slot)
    slot_of_code[encoder.code_of(static_cast<std::size_t>(columns_[slot]), bins_[slot])] =
        static_cast<Slot>(slot);
  const auto rows = static_cast<std::size_t>(matrix.rows);
  row_offsets_.assign(rows + 1, 0);
  const auto is_stored = [&](std::int64_t at) {
    return entry_bins[at] != default_bins_[matrix.indices[at]];
  };
  threads.for_range(matrix.rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at)
        row_offsets_[static_cast<std::size_t>(row) + 1] += is_stored(at) ? 1 : 0;
  });
  std::partial_sum(row_offsets_.begin(), row_offsets_.end(), row_offsets_.begin());
  row_slots_.resize(row_offsets_.back());
  threads.for_range(matrix.rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      Slot* const first = row_slots_.data() + row_offsets_[row];
      Slot* to = first;
      for (std::int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at)
        if (is_stored(at))
          *to++ = slot_of_code[encoder.code_of(static_cast<std::size_t>(matrix.indices[at]),
                                               entry_bins[at])];
      if (!std::is_sorted(first, to)) std::sort(first, to);
    }
  });
}

// Each task collects the rows of a range of slots.
void SparseBinnedData::store_slots(Threads& threads) {
  slot_offsets_.assign(slots() + 1, 0);
  for (const Slot slot : row_slots_) ++slot_offsets_[slot + 1];
  std::partial_sum(slot_offsets_.begin(), slot_offsets_.end(), slot_offsets_.begin());
  slot_rows_.resize(row_slots_.size());
  std::vector<std::size_t> next(slot_offsets_.begin(), slot_offsets_.end() - 1);
  const std::int64_t parts = threads.count();
  threads.run(parts, [&](std::int64_t part) {
    const auto bound = [&](std::int64_t index) {
      return static_cast<Slot>(static_cast<std::int64_t>(slots()) * index / parts);
    };
    const Slot begin = bound(part), end = bound(part + 1);
    for (std::uint32_t index = 0; index < static_cast<std::uint32_t>(rows()); ++index) {
      const auto all = row(index);
      for (auto at = std::lower_bound(all.begin(), all.end(), begin); at != all.end() && *at < end;
           ++at)
        slot_rows_[next[*at]++] = index;
    }
  });
}

std::uint8_t SparseBinnedData::at(std::uint32_t row_index, int column) const {
  const auto all = row(row_index);
  const SlotRange range = slots_of(column);
  const auto found = std::lower_bound(all.begin(), all.end(), range.begin);
  return found != all.end() && *found < range.end ? bin_of(*found) : default_bin(column);
}

bool suits_sparse_bins(const Matrix& matrix, comm::Communicator* communicator) {
  // Below this density, visiting the entries is faster than visiting all bins.
  constexpr std::int64_t kCellsPerEntry = 12;
  const std::int64_t entries = !matrix.is_sparse() ? 0 : matrix.entries() - matrix.offsets[0];
  std::int64_t sizes[] = {matrix.is_sparse() || matrix.rows == 0 ? 0 : 1, entries, matrix.rows};
  if (communicator != nullptr) communicator->all_reduce(Buffer::of<std::int64_t>(sizes));
  const double cells = static_cast<double>(sizes[2]) * static_cast<double>(matrix.columns);
  return sizes[0] == 0 && sizes[1] > 0 && static_cast<double>(sizes[1] * kCellsPerEntry) <= cells;
}

}  // namespace tutti::learn::tree
