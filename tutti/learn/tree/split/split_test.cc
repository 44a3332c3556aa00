#include "tutti/learn/tree/split/split.h"

#include <gtest/gtest.h>

#include <random>

namespace tutti::learn::tree {
namespace {

struct Column {
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kBins);
  NodeSums node;

  void add(int bin, std::int64_t gradient, std::int64_t hessian) {
    words[static_cast<std::size_t>(bin)] += pack(gradient, hessian);
    node.gradient += gradient;
    node.hessian += hessian;
    ++node.count;
  }
};

Bins bins_of(int count) {
  Bins bins;
  bins.columns.resize(1);
  for (int i = 0; i + 1 < count; ++i) bins.columns[0].edges.push_back(i);
  return bins;
}

void expect_same(const Split& a, const Split& b) {
  EXPECT_EQ(a.exists(), b.exists());
  EXPECT_EQ(a.gain, b.gain);
  EXPECT_EQ(a.bin, b.bin);
  EXPECT_EQ(a.left_bins, b.left_bins);
  EXPECT_EQ(a.left_is_smaller, b.left_is_smaller);
}

// Packed words are screened in f32 without skipping empty bins; the split must be bitwise identical to that of the f64
// search over all candidates.
TEST(SplitSearch, PackedWordsMatchSums) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    const int count = 2 + static_cast<int>(random() % 254);
    const int rows = 1 + static_cast<int>(random() % (round % 3 == 0 ? 6u : 400u));
    const int greatest = round % 2 == 0 ? 1 : 20000;
    const bool has_missing = round % 4 == 0;
    Column column;
    for (int i = 0; i < rows; ++i) {
      const bool is_missing = has_missing && random() % 5 == 0;
      const auto spread = static_cast<unsigned>(2 * greatest + 1);
      column.add(
          is_missing ? kMissingBin : static_cast<int>(random() % static_cast<unsigned>(count)),
          static_cast<std::int64_t>(random() % spread) - greatest,
          1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(greatest)));
    }
    SplitRules rules;
    rules.l2 = round % 5 == 0 ? 0 : 1;
    rules.min_samples_leaf = round % 7 == 0 ? 5 : 1;
    rules.scales = round % 3 == 0 ? SumScales{} : SumScales{1.0 / 3001, 0.25 / 7919};
    const Bins bins = bins_of(count);
    const HistogramShape shape = {Kind::kNarrow, 1, 0};
    const SplitSearch search(bins, shape, rules);
    Split by_words, by_sums;
    search.try_histogram(0, column.words.data(), column.node, 7, by_words);
    ColumnSums sums;
    read_histogram(shape, column.words.data(), count, sums);
    search.try_column(0, sums, column.node, 7, by_sums);
    expect_same(by_words, by_sums);
  }
}

// Sums that use all 32 bits.
TEST(SplitSearch, LargeSumsAreNotTruncated) {
  Column column;
  column.add(3, -(std::int64_t{1} << 30), std::int64_t{3} << 30);
  column.add(9, (std::int64_t{1} << 30) - 1, (std::int64_t{1} << 30) - 5);
  const Bins bins = bins_of(20);
  const SplitSearch search(bins, {Kind::kNarrow, 1, 0}, {});
  Split split;
  search.try_histogram(0, column.words.data(), column.node, 7, split);
  ASSERT_TRUE(split.exists());
  EXPECT_EQ(split.bin, 6);
  EXPECT_FALSE(split.left_is_smaller);
}

}  // namespace
}  // namespace tutti::learn::tree
