#include "tutti/learn/tree/histogram/class_sums.h"

#include <gtest/gtest.h>

#include <random>

namespace tutti::learn::tree {
namespace {

// More rows than the counters hold, in pieces of which the last has the maximum size.
TEST(ClassSums, MatchSumsOfRecords) {
  constexpr std::size_t kRowCount = 32768;
  for (const int columns : {1, 5, 28, 32}) {
    BinnedData data(kRowCount, columns);
    std::mt19937 random(1);
    for (std::int64_t i = 0; i < data.rows() * data.stride(); ++i)
      data.tile(0)[i] = static_cast<std::uint8_t>(random() % (i % 3 == 0 ? 2 : 256));
    const HistogramShape shape = {Kind::kNarrow, columns, 0};
    std::vector<std::uint64_t> histogram(shape.words()), expected(shape.words());
    ClassSums sums;
    Prefetcher no_prefetch = {data.tile(0), data.tile(0)};
    for (const std::size_t size : {std::size_t{40000}, std::size_t{0}, std::size_t{25535},
                                   std::size_t{1}, ClassSums::kMaxRows}) {
      std::vector<std::uint16_t> offsets;
      std::vector<NarrowRecord> records;
      for (std::size_t i = 0; i < size; ++i) {
        const auto row = static_cast<std::uint32_t>(random() % kRowCount);
        const bool is_one = random() % 3 == 0;
        offsets.push_back(static_cast<std::uint16_t>(row | (is_one ? 0x8000 : 0)));
        records.push_back({row, static_cast<std::int16_t>(is_one ? 1 : 0), 1});
      }
      sums.add(data, data.tile(0), offsets, histogram.data(), no_prefetch);
      add_rows(data, 0, std::span<const NarrowRecord>(records), shape, expected.data());
    }
    sums.flush(histogram.data());
    EXPECT_EQ(histogram, expected) << columns;
    sums.flush(histogram.data());
    EXPECT_EQ(histogram, expected) << columns;
  }
}

}  // namespace
}  // namespace tutti::learn::tree
