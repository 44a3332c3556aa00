#include "tutti/learn/tree/sparse/sampled_search.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tutti/learn/tree/grow/column_draw.h"

namespace tutti::learn::tree {

template <class Record>
SampledSearch<Record>::SampledSearch(const SparseBinnedData& data, const SplitSearch& search,
                                     const GrowOptions& options)
    : data_(data),
      search_(data, search),
      shape_(search.shape()),
      wanted_(static_cast<std::size_t>(options.columns_per_node)) {
  if (wanted_ == 0) return;
  for (const int column : options.columns) {
    const std::size_t size = data.entries_of(column);
    if (size == 0) continue;
    columns_.push_back(column);
    entries_ += static_cast<double>(size);
    columns_by_size_[static_cast<std::size_t>(std::bit_width(size)) - 1] += 1;
  }
}

// Expected number of columns that occur in a random subset of the rows.
template <class Record>
double SampledSearch<Record>::expected_columns(std::int64_t rows) const {
  const double absent = 1 - static_cast<double>(rows) / static_cast<double>(data_.rows());
  double expected = 0, power = absent;  // absent^(2^i)
  for (const double columns : columns_by_size_) {
    expected += columns * (1 - power);
    power *= power;
  }
  return std::max(1.0, expected);
}

// Costs in nanoseconds, measured roughly; they do not affect the result.
template <class Record>
bool SampledSearch<Record>::is_faster_by_column(std::int64_t rows) const {
  if (columns_.empty()) return false;
  constexpr double kPriority = 0.3, kRowOfSlot = 1.5, kColumn = 30, kEntry = 2, kSlot = 6;
  const auto size = static_cast<double>(columns_.size()), row_count = static_cast<double>(rows);
  const double present = expected_columns(rows);
  const double drawn = std::min(size, 1.25 * static_cast<double>(wanted_) * size / present);
  const double by_column =
      size * kPriority + drawn * (entries_ / size * kRowOfSlot + kColumn) + 2 * row_count;
  const double by_list =
      entries_ / static_cast<double>(data_.rows()) * row_count * kEntry + present * kSlot;
  return by_column < by_list;
}

// Sets column_sums_ to the sums of the rows that have a position.
template <class Record>
void SampledSearch<Record>::sum_column(int column, std::span<const Record> rows) {
  column_sums_.slots.clear();
  column_sums_.words.clear();
  const std::size_t words = shape_.words_per_bin();
  const auto [begin, end] = data_.slots_of(column);
  for (auto slot = begin; slot < end; ++slot) {
    column_sums_.words.resize(column_sums_.words.size() + words);
    std::uint64_t* const cell = column_sums_.words.data() + column_sums_.words.size() - words;
    for (const std::uint32_t row : data_.rows_of(slot))
      if (const std::uint32_t position = positions_[row]; position != 0)
        add_to_cell(shape_, rows[position - 1], cell);
    std::uint64_t any = 0;
    for (std::size_t word = 0; word < words; ++word) any |= cell[word];
    if (any != 0)
      column_sums_.slots.push_back(slot);
    else
      column_sums_.words.resize(column_sums_.words.size() - words);
  }
}

template <class Record>
void SampledSearch<Record>::search_columns(std::span<const Record> rows, GrownNode& node) {
  positions_.resize(static_cast<std::size_t>(data_.rows()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    positions_[rows[i].row] = static_cast<std::uint32_t>(i) + 1;
  begin(node);
  PriorityRanges ranges(1.25 * static_cast<double>(wanted_) /
                        expected_columns(static_cast<std::int64_t>(rows.size())));
  for (; ranges.exists() && !has_enough(node); ranges.advance()) {
    draw_columns(node.path, columns_, ranges.first(), ranges.last(), drawn_);
    for (std::size_t i = 0; i < drawn_.size() && !has_enough(node); ++i) {
      sum_column(static_cast<int>(drawn_[i]), rows);
      if (column_sums_.slots.empty()) continue;
      const SlotGroup all = {0, column_sums_.slots.size()};
      tried_ += search_.try_column(column_sums_, all, node.split) ? 1 : 0;
    }
  }
  for (const Record& record : rows) positions_[record.row] = 0;
}

template <class Record>
void SampledSearch<Record>::search_list(const SlotSums& sums, GrownNode& node) {
  begin(node);
  PriorityRanges ranges(1.5 * static_cast<double>(wanted_) /
                            std::max(1.0, static_cast<double>(sums.slots.size())) +
                        0.001);
  for (; ranges.exists() && !has_enough(node); ranges.advance()) {
    drawn_.clear();
    for (std::size_t at = 0; at < sums.slots.size(); at = search_.group_at(sums, at).end) {
      const std::uint32_t one = priority(node.path, data_.column_of(sums.slots[at]));
      if (one >= ranges.first() && one <= ranges.last())
        drawn_.push_back(draw_key(one, static_cast<std::uint32_t>(at)));
    }
    std::sort(drawn_.begin(), drawn_.end());
    for (std::size_t i = 0; i < drawn_.size() && !has_enough(node); ++i) {
      const auto group = search_.group_at(sums, static_cast<std::uint32_t>(drawn_[i]));
      tried_ += search_.try_column(sums, group, node.split) ? 1 : 0;
    }
  }
}

template class SampledSearch<NarrowRecord>;
template class SampledSearch<WideRecord>;

}  // namespace tutti::learn::tree
