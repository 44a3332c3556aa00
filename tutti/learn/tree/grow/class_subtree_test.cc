#include "tutti/learn/tree/grow/class_subtree.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/grow/grower.h"
#include "tutti/learn/tree/model/test_data.h"
#include "tutti/learn/tree/split/class_kernel.h"

namespace tutti::learn::tree {
namespace {

Model tree_of(const TestData& data, const BinOptions& bin_options, const SplitRules& rules,
              GrowOptions options) {
  Threads threads(2);
  const Bins bins = find_bins(data.matrix(), bin_options, threads);
  const BinnedData binned = bin(data.matrix(), bins, threads);
  const SplitSearch search(bins, {Kind::kNarrow, static_cast<int>(data.columns), 0}, rules);
  options.is_classification = true;
  options.columns.resize(static_cast<std::size_t>(data.columns));
  std::iota(options.columns.begin(), options.columns.end(), 0);
  Records<NarrowRecord> records, scratch;
  records.resize(data.rows);
  scratch.resize(data.rows);
  for (std::int64_t row = 0; row < data.rows; ++row)
    records.data()[row] = {static_cast<std::uint32_t>(row),
                           static_cast<std::int16_t>(data.labels[static_cast<std::size_t>(row)]),
                           1};
  const Growth<NarrowRecord> growth = {binned, search, options, records, scratch};
  const std::vector<GrownNode> nodes = grow(growth, threads);
  EXPECT_EQ(ClassSubtree::suits(growth, nodes[0]),
            !options.keeps_last_rows && data.rows <= ClassSubtree::kMaxRows);
  Model model;
  std::vector<std::int32_t> tree_index;
  model.trees.push_back(to_tree(nodes, bins, rules, tree_index));
  return model;
}

// With keeps_last_rows, rows are partitioned and summed by the general code.
void expect_same_tree(const TestData& data, const BinOptions& bins = {},
                      const SplitRules& rules = {}, GrowOptions options = {}) {
  const Model general = tree_of(data, bins, rules, options);
  EXPECT_GT(general.trees[0].nodes.size(), 1);
  options.keeps_last_rows = false;
  expect_same(tree_of(data, bins, rules, options), general);
}

TEST(ClassSubtree, MatchesTheGeneralCode) {
  for (const int columns : {1, 3, 7, 16, 17, 28, 32}) {
    SCOPED_TRACE(columns);
    expect_same_tree(make_data(6000, columns));
    expect_same_tree(make_data(100, columns));  // the root has no histogram
  }
}

TEST(ClassSubtree, SupportsTheMaximumNumberOfRows) {
  GrowOptions options;
  options.max_depth = 5;
  for (const std::int64_t rows : {65534, 65535, 65536})
    expect_same_tree(make_data(rows, 4), {}, {}, options);
}

TEST(ClassSubtree, SupportsMissingValuesAndCategories) {
  expect_same_tree(make_data(5000, 6, 5));
  TestData data = make_data(5000, 6);
  for (std::size_t i = 1; i < data.values.size(); i += 6)
    data.values[i] = std::floor(std::abs(data.values[i]) * 20);
  BinOptions bins;
  bins.categorical = {1};
  expect_same_tree(data, bins);
}

TEST(ClassSubtree, KeepsTheRules) {
  const TestData data = make_data(8000, 6);
  SplitRules rules;
  rules.min_samples_leaf = 25;
  GrowOptions options;
  options.min_samples_split = 90;
  options.min_gain = 0.5;
  expect_same_tree(data, {}, rules, options);
  for (options.max_depth = 1; options.max_depth < 4; ++options.max_depth)
    expect_same_tree(data, {}, {}, options);
}

// Equal or mirrored columns have equal scores: the first one must win.
TEST(ClassSubtree, ChoosesTheFirstOfEqualColumns) {
  TestData data = make_data(4000, 5);
  for (std::size_t i = 0; i < data.values.size(); i += 5) {
    data.values[i + 3] = data.values[i];
    data.values[i + 4] = -data.values[i + 1];
  }
  expect_same_tree(data);
}

TEST(ScreenClasses, FindsTheGreatestScoreOfEachColumn) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    ClassScreen problem = {nullptr, nullptr, round % 2 == 0 ? 16 : 32, 0, 0, 1, 0};
    const auto lanes = static_cast<std::size_t>(problem.lanes);
    std::vector<std::uint32_t> words(kBins * lanes), less(kBins * lanes), kept;
    problem.rows = round % 3 == 0 ? 65535 : 2 + static_cast<int>(random() % 900);
    problem.ones = 1 + static_cast<int>(random() % static_cast<unsigned>(problem.rows - 1));
    for (std::size_t lane = 0; lane < lanes; ++lane)
      for (int row = 0; row < problem.rows; ++row)
        words[random() % kBins * lanes + lane] += row < problem.ones ? 0x10001 : 1;
    kept = words;
    if (round % 4 > 1) {
      for (std::size_t i = 0; i < words.size(); ++i)
        words[i] += less[i] = static_cast<std::uint32_t>(random() % 2 * 0x10001);
      problem.less = less.data();
    }
    if (round % 5 == 0) problem.least = problem.rows / 3;
    problem.most = problem.rows - problem.least;
    problem.words = words.data();
    std::vector<float> greatest(lanes);
    screen_classes(problem, greatest.data());
    EXPECT_EQ(words, kept);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      double best = 0, ones = 0, rows = 0;
      for (std::size_t bin = 0; bin < kBins; ++bin) {
        ones += kept[bin * lanes + lane] >> 16;
        rows += kept[bin * lanes + lane] & 0xffff;
        const double other_ones = problem.ones - ones, other_rows = problem.rows - rows;
        if (rows > 0 && other_rows > 0 && rows >= problem.least && rows <= problem.most)
          best = std::max(best, ones * ones / rows + other_ones * other_ones / other_rows);
      }
      EXPECT_NEAR(greatest[lane], best, best * kScreenError);
    }
  }
}

}  // namespace
}  // namespace tutti::learn::tree
