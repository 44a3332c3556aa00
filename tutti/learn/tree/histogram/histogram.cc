#include "tutti/learn/tree/histogram/histogram.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace tutti::learn::tree {
namespace {

// Two words that are loaded, added and stored together.
using Pair = std::int64_t __attribute__((vector_size(16), aligned(8), may_alias));

template <Kind kKind, class Record>
inline void add(const Record& record, std::uint64_t* bins, unsigned bin, int classes) {
  if constexpr (kKind == Kind::kNarrow)
    bins[bin] += pack(record.gradient, record.hessian);
  else if constexpr (kKind == Kind::kWide)
    reinterpret_cast<Pair*>(bins)[bin] += Pair{record.gradient, record.hessian};
  else
    bins[static_cast<int>(bin) * classes + record.gradient] += record.hessian;
}

// The same with the number of rows in the last of the `words` of a bin.
inline void add_counted(const WideRecord& record, std::uint64_t* bins, unsigned bin, Kind kind,
                        std::size_t words) {
  std::uint64_t* const cell = bins + bin * words;
  if (kind == Kind::kWide) {
    cell[0] += static_cast<std::uint64_t>(record.gradient);
    cell[1] += record.hessian;
  } else {
    cell[record.gradient] += record.hessian;
  }
  ++cell[words - 1];
}

// Row by row, all columns of a row: two additions to the same bin of a column are separated by those to all other
// columns, so they do not depend on each other. One load fetches eight bins.
template <Kind kKind, int kColumns, class Record>
void add_tile(const std::uint8_t* bins, int stride, std::span<const Record> records, int classes,
              std::uint64_t* histogram, Prefetcher& prefetcher) {
  const std::size_t column_words = kBins * (kKind == Kind::kNarrow ? 1
                                            : kKind == Kind::kWide ? 2
                                                                   : classes);
  const Record* record = records.data();
  Prefetcher local = prefetcher;
  for (const Record* const end = record + records.size(); record != end; ++record) {
    // Not beyond the end: other threads write the records there.
    const Record* upcoming =
        end - record > std::ptrdiff_t{kAddLookahead} ? record + kAddLookahead : record;
    __builtin_prefetch(bins + static_cast<std::size_t>(upcoming->row) * stride);
    const std::uint8_t* row = bins + static_cast<std::size_t>(record->row) * stride;
    const Record one = *record;
    local.prefetch();
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c)
      add<kKind>(one, histogram + c * column_words, row[c], classes);
  }
  prefetcher = local;
}

// Number of column groups of a tile, each of which processes all records: as many as needed for the sums of a group to
// fit into the L1 cache. Few records touch few bins, so they need one group.
int groups_of(int columns, std::size_t column_bytes, std::size_t records) {
  constexpr std::size_t kL1CacheBytes = 28 << 10, kFewRecords = 256;
  const std::size_t bytes = static_cast<std::size_t>(columns) * column_bytes;
  const std::size_t groups =
      records < kFewRecords ? 1 : (bytes + kL1CacheBytes - 1) / kL1CacheBytes;
  return std::min(columns, static_cast<int>(groups));
}

template <Kind kKind, class Record>
void add_tile(const BinnedData& data, int tile, std::span<const Record> records,
              const HistogramShape& shape, std::uint64_t* histogram, Prefetcher* prefetcher) {
  using Function =
      void (*)(const std::uint8_t*, int, std::span<const Record>, int, std::uint64_t*, Prefetcher&);
  static constexpr auto kFunctions = []<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    return std::array<Function, sizeof...(kIndex)>{&add_tile<kKind, kIndex + 1, Record>...};
  }(std::make_integer_sequence<int, BinnedData::kTileColumns>());
  const int columns = data.tile_columns(tile);
  const std::size_t words = shape.words_per_column();
  const int groups = groups_of(columns, words * sizeof(std::uint64_t), records.size());
  std::uint64_t* sums =
      histogram + static_cast<std::size_t>(tile * BinnedData::kTileColumns) * words;
  Prefetcher no_prefetch = {data.tile(tile), data.tile(tile)};
  for (int group = 0; group < groups; ++group) {
    const int first = columns * group / groups, end = columns * (group + 1) / groups;
    kFunctions[end - first - 1](data.tile(tile) + first, data.stride(), records, shape.classes,
                                sums + static_cast<std::size_t>(first) * words,
                                prefetcher != nullptr ? *prefetcher : no_prefetch);
  }
}

// Calls add(record, sums, bin) for each column and row.
template <class Record, class Add>
void add_columns(const BinnedData& data, std::span<const int> columns,
                 std::span<const Record> records, const HistogramShape& shape,
                 std::uint64_t* histogram, const Add& add) {
  const int stride = data.stride();
  for (const int column : columns) {
    const std::uint8_t* bins = data.column(column);
    std::uint64_t* sums = histogram + static_cast<std::size_t>(column) * shape.words_per_column();
    for (const Record& record : records)
      add(record, sums, bins[static_cast<std::size_t>(record.row) * stride]);
  }
}

// Processes the rows in blocks that stay in the cache while the columns are read one by one.
template <class Record, class Add>
void add_blocks(const BinnedData& data, std::span<const int> columns,
                std::span<const Record> records, const HistogramShape& shape,
                std::uint64_t* histogram, const Add& add) {
  constexpr std::size_t kBlock = 256;
  const std::uint8_t* first = columns.empty() ? nullptr : data.column(columns[0]);
  for (std::size_t begin = 0; begin < records.size(); begin += kBlock) {
    const auto block = records.subspan(begin, std::min(kBlock, records.size() - begin));
    for (const Record& record : block)
      __builtin_prefetch(first + static_cast<std::size_t>(record.row) * data.stride());
    add_columns(data, columns, block, shape, histogram, add);
  }
}

template <Kind kKind, class Record>
void add_blocks(const BinnedData& data, std::span<const int> columns,
                std::span<const Record> records, const HistogramShape& shape,
                std::uint64_t* histogram) {
  add_blocks(data, columns, records, shape, histogram,
             [classes = shape.classes](const Record& record, std::uint64_t* sums, unsigned bin) {
               add<kKind>(record, sums, bin, classes);
             });
}

void add_counted_blocks(const BinnedData& data, std::span<const int> columns,
                        std::span<const WideRecord> records, const HistogramShape& shape,
                        std::uint64_t* histogram) {
  add_blocks(data, columns, records, shape, histogram,
             [kind = shape.kind, words = shape.words_per_bin()](const WideRecord& record,
                                                                std::uint64_t* sums, unsigned bin) {
               add_counted(record, sums, bin, kind, words);
             });
}

}  // namespace

void add_rows(const BinnedData& data, int tile, std::span<const NarrowRecord> records,
              const HistogramShape& shape, std::uint64_t* histogram, Prefetcher* prefetcher) {
  add_tile<Kind::kNarrow>(data, tile, records, shape, histogram, prefetcher);
}

void add_rows(const BinnedData& data, int tile, std::span<const WideRecord> records,
              const HistogramShape& shape, std::uint64_t* histogram, Prefetcher* prefetcher) {
  if (shape.counts_rows) {
    std::array<int, BinnedData::kTileColumns> columns;
    std::iota(columns.begin(), columns.end(), tile * BinnedData::kTileColumns);
    const auto count = static_cast<std::size_t>(data.tile_columns(tile));
    return add_counted_blocks(data, {columns.data(), count}, records, shape, histogram);
  }
  if (shape.kind == Kind::kWide)
    add_tile<Kind::kWide>(data, tile, records, shape, histogram, prefetcher);
  else
    add_tile<Kind::kClasses>(data, tile, records, shape, histogram, prefetcher);
}

void add_rows(const BinnedData& data, std::span<const int> columns,
              std::span<const NarrowRecord> records, const HistogramShape& shape,
              std::uint64_t* histogram) {
  add_blocks<Kind::kNarrow>(data, columns, records, shape, histogram);
}

void add_rows(const BinnedData& data, std::span<const int> columns,
              std::span<const WideRecord> records, const HistogramShape& shape,
              std::uint64_t* histogram) {
  if (shape.counts_rows) return add_counted_blocks(data, columns, records, shape, histogram);
  if (shape.kind == Kind::kWide)
    add_blocks<Kind::kWide>(data, columns, records, shape, histogram);
  else
    add_blocks<Kind::kClasses>(data, columns, records, shape, histogram);
}

}  // namespace tutti::learn::tree
