#include "tutti/learn/tree/histogram/column_sums.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tutti::learn::tree {
namespace {

template <Kind kKind>
struct Cell {
  // `words`: those of the bin.
  static void read(const std::uint64_t* words, const HistogramShape& shape, std::int64_t& gradient,
                   std::int64_t& hessian) {
    if constexpr (kKind == Kind::kNarrow) {
      gradient = gradient_of(*words);
      hessian = hessian_of(*words);
    } else if constexpr (kKind == Kind::kWide) {
      gradient = static_cast<std::int64_t>(words[0]);
      hessian = static_cast<std::int64_t>(words[1]);
    } else {
      gradient = 0;
      hessian = static_cast<std::int64_t>(
          std::accumulate(words, words + shape.classes, std::uint64_t{0}));
    }
  }
  template <class Record>
  static void add(std::uint64_t* words, const HistogramShape& shape, const Record& record) {
    if constexpr (kKind == Kind::kNarrow) {
      *words += pack(record.gradient, record.hessian);
    } else if constexpr (kKind == Kind::kWide) {
      words[0] += static_cast<std::uint64_t>(record.gradient);
      words[1] += record.hessian;
    } else {
      words[record.gradient] += record.hessian;
    }
    if (shape.counts_rows) ++words[shape.sums_per_bin()];
  }
};

// A constant for kNarrow, whose histograms are read most.
template <Kind kKind>
std::size_t words_of(const HistogramShape& shape) {
  return kKind == Kind::kNarrow ? 1 : shape.words_per_bin();
}

// Branch-free: an entry without rows is overwritten by the next one.
template <Kind kKind>
void take(const std::uint64_t* words, int bin, const HistogramShape& shape, ColumnSums& sums) {
  const auto at = static_cast<std::size_t>(sums.size);
  const std::uint64_t* const cell = words + static_cast<std::size_t>(bin) * words_of<kKind>(shape);
  Cell<kKind>::read(cell, shape, sums.gradients[at], sums.hessians[at]);
  sums.counts[at] = shape.counts_rows ? static_cast<std::int64_t>(cell[shape.sums_per_bin()]) : 0;
  sums.bins[at] = bin;
  sums.size += (sums.gradients[at] | sums.hessians[at] | sums.counts[at]) != 0 ? 1 : 0;
}

void set_last_aside_as_missing(ColumnSums& sums) {
  const auto last = static_cast<std::size_t>(--sums.size);
  sums.missing_gradient = sums.gradients[last];
  sums.missing_hessian = sums.hessians[last];
  sums.missing_count = sums.counts[last];
}

template <Kind kKind>
void read_all(const HistogramShape& shape, const std::uint64_t* words, int bins, ColumnSums& sums) {
  for (int bin = 0; bin < bins; ++bin) take<kKind>(words, bin, shape, sums);
  const int values = sums.size;
  take<kKind>(words, kMissingBin, shape, sums);
  if (sums.size > values) set_last_aside_as_missing(sums);
}

template <Kind kKind, class Record>
void read_records(const BinnedData& data, int column, std::span<const Record> records,
                  const HistogramShape& shape, std::uint64_t* words,
                  std::array<std::uint64_t, 4>& used, ColumnSums& sums) {
  const std::uint8_t* bins = data.column(column);
  const auto stride = static_cast<std::size_t>(data.stride());
  const std::size_t per_bin = words_of<kKind>(shape);
  for (const Record& record : records) {
    const int bin = bins[record.row * stride];
    used[static_cast<std::size_t>(bin) / 64] |= 1ull << (bin % 64);
    Cell<kKind>::add(words + static_cast<std::size_t>(bin) * per_bin, shape, record);
  }
  for (std::size_t part = 0; part < 4; ++part)
    for (std::uint64_t bits = used[part]; bits != 0; bits &= bits - 1) {
      const int bin = static_cast<int>(part) * 64 + std::countr_zero(bits);
      const int before = sums.size;
      take<kKind>(words, bin, shape, sums);
      if (bin == kMissingBin && sums.size > before) set_last_aside_as_missing(sums);
      if constexpr (kKind == Kind::kNarrow) words[bin] = 0;  // not read again
    }
  if constexpr (kKind == Kind::kNarrow) used = {};
}

}  // namespace

void read_histogram(const HistogramShape& shape, const std::uint64_t* words, int bins,
                    ColumnSums& sums) {
  sums.size = 0;
  sums.missing_gradient = sums.missing_hessian = sums.missing_count = 0;
  sums.words = words;
  switch (shape.kind) {
    case Kind::kNarrow: return read_all<Kind::kNarrow>(shape, words, bins, sums);
    case Kind::kWide: return read_all<Kind::kWide>(shape, words, bins, sums);
    case Kind::kClasses: return read_all<Kind::kClasses>(shape, words, bins, sums);
  }
}

template <class Record>
void RecordSums::read(const BinnedData& data, int column, std::span<const Record> records,
                      ColumnSums& sums) {
  sums.size = 0;
  sums.missing_gradient = sums.missing_hessian = sums.missing_count = 0;
  sums.words = scratch_;
  if constexpr (sizeof(Record) == sizeof(NarrowRecord))
    read_records<Kind::kNarrow>(data, column, records, shape_, scratch_, used_, sums);
  else if (shape_.kind == Kind::kWide)
    read_records<Kind::kWide>(data, column, records, shape_, scratch_, used_, sums);
  else
    read_records<Kind::kClasses>(data, column, records, shape_, scratch_, used_, sums);
}
template void RecordSums::read(const BinnedData&, int, std::span<const NarrowRecord>, ColumnSums&);
template void RecordSums::read(const BinnedData&, int, std::span<const WideRecord>, ColumnSums&);

void RecordSums::clear() {
  const auto words = static_cast<int>(shape_.words_per_bin());
  for (std::size_t part = 0; part < 4; ++part) {
    for (std::uint64_t bits = used_[part]; bits != 0; bits &= bits - 1)
      std::fill_n(scratch_ + (static_cast<int>(part) * 64 + std::countr_zero(bits)) * words, words,
                  0);
    used_[part] = 0;
  }
}

}  // namespace tutti::learn::tree
