#include "tutti/learn/tree/histogram/column_sums.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tutti::learn::tree {
namespace {

template <Kind kKind>
struct Cell {
  static void read(const std::uint64_t* words, int bin, int classes, std::int64_t& gradient,
                   std::int64_t& hessian) {
    if constexpr (kKind == Kind::kNarrow) {
      gradient = gradient_of(words[bin]);
      hessian = hessian_of(words[bin]);
    } else if constexpr (kKind == Kind::kWide) {
      gradient = static_cast<std::int64_t>(words[2 * bin]);
      hessian = static_cast<std::int64_t>(words[2 * bin + 1]);
    } else {
      const std::uint64_t* from = words + bin * classes;
      gradient = 0;
      hessian = static_cast<std::int64_t>(std::accumulate(from, from + classes, std::uint64_t{0}));
    }
  }
  template <class Record>
  static void add(std::uint64_t* words, int bin, int classes, const Record& record) {
    if constexpr (kKind == Kind::kNarrow) {
      words[bin] += pack(record.gradient, record.hessian);
    } else if constexpr (kKind == Kind::kWide) {
      words[2 * bin] += static_cast<std::uint64_t>(std::int64_t{record.gradient});
      words[2 * bin + 1] += record.hessian;
    } else {
      words[bin * classes + record.gradient] += record.hessian;
    }
  }
};

// Branch-free: an entry without rows is overwritten by the next one.
template <Kind kKind>
void take(const std::uint64_t* words, int bin, int classes, ColumnSums& sums) {
  const auto at = static_cast<std::size_t>(sums.size);
  Cell<kKind>::read(words, bin, classes, sums.gradients[at], sums.hessians[at]);
  sums.bins[at] = bin;
  sums.size += (sums.gradients[at] | sums.hessians[at]) != 0 ? 1 : 0;
}

void set_last_aside_as_missing(ColumnSums& sums) {
  const auto last = static_cast<std::size_t>(--sums.size);
  sums.missing_gradient = sums.gradients[last];
  sums.missing_hessian = sums.hessians[last];
}

template <Kind kKind>
void read_all(const HistogramShape& shape, const std::uint64_t* words, int bins, ColumnSums& sums) {
  for (int bin = 0; bin < bins; ++bin) take<kKind>(words, bin, shape.classes, sums);
  const int values = sums.size;
  take<kKind>(words, kMissingBin, shape.classes, sums);
  if (sums.size > values) set_last_aside_as_missing(sums);
}

template <Kind kKind, class Record>
void read_records(const BinnedData& data, int column, std::span<const Record> records, int classes,
                  std::uint64_t* words, std::array<std::uint64_t, 4>& used, ColumnSums& sums) {
  const std::uint8_t* bins = data.column(column);
  const auto stride = static_cast<std::size_t>(data.stride());
  for (const Record& record : records) {
    const int bin = bins[record.row * stride];
    used[static_cast<std::size_t>(bin) / 64] |= 1ull << (bin % 64);
    Cell<kKind>::add(words, bin, classes, record);
  }
  for (std::size_t part = 0; part < 4; ++part)
    for (std::uint64_t bits = used[part]; bits != 0; bits &= bits - 1) {
      const int bin = static_cast<int>(part) * 64 + std::countr_zero(bits);
      const int before = sums.size;
      take<kKind>(words, bin, classes, sums);
      if (bin == kMissingBin && sums.size > before) set_last_aside_as_missing(sums);
      if constexpr (kKind == Kind::kNarrow) words[bin] = 0;  // not read again
    }
  if constexpr (kKind == Kind::kNarrow) used = {};
}

}  // namespace

void read_histogram(const HistogramShape& shape, const std::uint64_t* words, int bins,
                    ColumnSums& sums) {
  sums.size = 0;
  sums.missing_gradient = sums.missing_hessian = 0;
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
  sums.missing_gradient = sums.missing_hessian = 0;
  sums.words = scratch_;
  const int k = shape_.classes;
  if constexpr (sizeof(Record) == sizeof(NarrowRecord))
    read_records<Kind::kNarrow>(data, column, records, k, scratch_, used_, sums);
  else if (shape_.kind == Kind::kWide)
    read_records<Kind::kWide>(data, column, records, k, scratch_, used_, sums);
  else
    read_records<Kind::kClasses>(data, column, records, k, scratch_, used_, sums);
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
