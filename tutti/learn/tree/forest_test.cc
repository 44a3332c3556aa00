#include "tutti/learn/tree/forest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/model/test_data.h"

namespace tutti::learn::tree {
namespace {

ForestOptions classifier(int max_depth = 0) {
  ForestOptions options;
  options.classes = 2;
  options.max_depth = max_depth;
  return options;
}

TEST(DecisionTree, LearnsTheClasses) {
  Threads threads(2);
  const TestData train = make_data(20000, 6), test = make_data(5000, 6, 0, 2);
  const Model model = train_forest(train.matrix(), {train.labels, {}}, classifier(8), threads);
  EXPECT_GT(accuracy(predict_raw(model, test.matrix(), threads), test.labels, 2), 0.82);
  EXPECT_EQ(model.trees[0].depth(), 8);
}

TEST(DecisionTree, GrowsUntilEveryLeafIsPure) {
  Threads threads(2);
  const TestData data = make_data(3000, 5);
  const Model model = train_forest(data.matrix(), {data.labels, {}}, classifier(), threads);
  // 255 bins separate almost all of three thousand rows.
  EXPECT_GT(accuracy(predict_raw(model, data.matrix(), threads), data.labels, 2), 0.995);
}

TEST(DecisionTree, SplitsEvenIfTheFirstSplitHasNoGain) {
  Threads threads(1);
  const std::vector<float> values = {0, 0, 0, 1, 1, 0, 1, 1};
  const std::vector<double> labels = {0, 1, 1, 0};
  const Matrix matrix = {Storage::kDense, DType::kF32, 4, 2, values.data(), 2, 1};
  const Model model = train_forest(matrix, {labels, {}}, classifier(), threads);
  EXPECT_EQ(accuracy(predict_raw(model, matrix, threads), labels, 2), 1);
}

class SameModel : public testing::TestWithParam<int> {};

TEST_P(SameModel, ForAnyNumberOfThreads) {
  Threads one(1), three(3);
  const TestData data = make_data(36000, 33, 20);
  ForestOptions options = classifier(9);
  switch (GetParam()) {
    case 0: break;
    case 1: options.classes = 0; break;
    case 2: options.trees = 5, options.bootstrap = true, options.columns_per_node = 6; break;
    case 3: options.trees = 2, options.random_thresholds = true; break;
    case 4: options.max_leaves = 40, options.max_depth = 0; break;
    case 5: options.classes = 3; break;
    default: options.uses_entropy = true;
  }
  std::vector<double> labels = data.labels;
  if (options.classes == 3)
    for (std::size_t i = 0; i < labels.size(); i += 3) labels[i] = 2;
  expect_same(train_forest(data.matrix(), {labels, {}}, options, one),
              train_forest(data.matrix(), {labels, {}}, options, three));
}
INSTANTIATE_TEST_SUITE_P(Kinds, SameModel, testing::Range(0, 7));

// Large nodes are split level-wise; with a limit of leaves, best-first.
class LargeNodes : public testing::TestWithParam<int> {};

TEST_P(LargeNodes, MatchNodeByNodeGrowth) {
  Threads threads(2);
  // Several levels and an incomplete last block, even if a third of the rows have weight 0.
  const TestData data = make_data(300000, 5, 11);
  ForestOptions options = classifier(6);
  std::vector<double> labels = data.labels, weights;
  switch (GetParam()) {
    case 0: break;
    case 1: options.max_depth = 13; break;
    case 2: options.classes = 0, options.max_depth = 3; break;
    case 3:
      for (std::size_t i = 0; i < labels.size(); ++i) weights.push_back(static_cast<double>(i % 3));
      break;
    case 4: options.max_depth = 1; break;
    default:
      options.classes = 3;
      for (std::size_t i = 0; i < labels.size(); i += 3) labels[i] = 2;
  }
  const Model by_levels = train_forest(data.matrix(), {labels, weights}, options, threads);
  options.max_leaves = 1 << 14;
  expect_same(by_levels, train_forest(data.matrix(), {labels, weights}, options, threads));
}
INSTANTIATE_TEST_SUITE_P(Kinds, LargeNodes, testing::Range(0, 6));

// A node with more rows than are contiguous has a child with so few that it is searched row by row.
TEST(DecisionTree, FewRowsLeaveALargeNode) {
  Threads threads(2);
  TestData data = make_data(150000, 3);
  for (std::size_t row = 0; row < data.labels.size(); ++row) {
    const bool is_rare = row % 1500 == 7;
    data.values[3 * row] = is_rare ? 1 : 0;
    data.labels[row] = is_rare && data.values[3 * row + 1] > 0 ? 1 : 0;
  }
  const Model model = train_forest(data.matrix(), {data.labels, {}}, classifier(), threads);
  EXPECT_EQ(accuracy(predict_raw(model, data.matrix(), threads), data.labels, 2), 1);
  EXPECT_EQ(model.trees[0].depth(), 2);
}

TEST(DecisionTree, WeightsAreRepetitions) {
  Threads threads(2);
  const TestData data = make_data(2000, 5, 9);
  std::vector<double> weights, repeated_labels;
  TestData repeated = {0, 5, {}, {}};
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    weights.push_back(static_cast<double>(i % 4));
    for (std::size_t k = 0; k < i % 4; ++k) {
      repeated.values.insert(repeated.values.end(),
                             data.values.begin() + static_cast<std::ptrdiff_t>(i * 5),
                             data.values.begin() + static_cast<std::ptrdiff_t>(i * 5 + 5));
      repeated_labels.push_back(data.labels[i]);
      ++repeated.rows;
    }
  }
  for (const int classes : {0, 2}) {
    ForestOptions options = classifier(6);
    options.classes = classes;
    // At most 255 values per column, so the bins do not depend on frequencies.
    TestData coarse = data, coarse_repeated = repeated;
    for (TestData* one : {&coarse, &coarse_repeated})
      for (float& value : one->values) value = std::round(value * 20) / 20;
    const auto a =
        predict_raw(train_forest(coarse.matrix(), {data.labels, weights}, options, threads),
                    coarse.matrix(), threads);
    const auto b =
        predict_raw(train_forest(coarse_repeated.matrix(), {repeated_labels, {}}, options, threads),
                    coarse.matrix(), threads);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-9);
    // Scaling the weights changes only how ties are resolved.
    std::vector<double> scaled = weights;
    for (double& weight : scaled) weight *= 0.3;
    const auto c =
        predict_raw(train_forest(coarse.matrix(), {data.labels, scaled}, options, threads),
                    coarse.matrix(), threads);
    int others = 0;
    for (std::size_t i = 0; i < a.size(); ++i) others += std::abs(a[i] - c[i]) > 1e-6 ? 1 : 0;
    EXPECT_LT(others, static_cast<int>(a.size()) / 20);
  }
}

TEST(DecisionTree, TheOrderOfRowsDoesNotMatter) {
  Threads threads(2);
  const TestData data = make_data(3000, 4, 7);
  TestData shuffled = data;
  std::vector<std::size_t> order(3000);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::copy_n(data.values.begin() + static_cast<std::ptrdiff_t>(order[i] * 4), 4,
                shuffled.values.begin() + static_cast<std::ptrdiff_t>(i * 4));
    shuffled.labels[i] = data.labels[order[i]];
  }
  expect_same(train_forest(data.matrix(), {data.labels, {}}, classifier(), threads),
              train_forest(shuffled.matrix(), {shuffled.labels, {}}, classifier(), threads));
}

TEST(DecisionTree, ConstantAndRepeatedColumnsChangeNothing) {
  Threads threads(1);
  const TestData data = make_data(2000, 3);
  TestData more = {2000, 6, {}, data.labels};
  for (std::size_t i = 0; i < 2000; ++i) {
    const float* row = data.values.data() + i * 3;
    more.values.insert(more.values.end(), {row[0], row[1], row[2], 4.0F, row[0],
                                           std::numeric_limits<float>::quiet_NaN()});
  }
  const Model a = train_forest(data.matrix(), {data.labels, {}}, classifier(7), threads);
  const Model b = train_forest(more.matrix(), {data.labels, {}}, classifier(7), threads);
  expect_same(a, b);
  EXPECT_EQ(b.importances()[3], 0);
  EXPECT_EQ(b.importances()[4], 0);
  const auto importances = a.importances();
  EXPECT_NEAR(std::accumulate(importances.begin(), importances.end(), 0.0), 1, 1e-12);
}

// With few columns the bins of subtrees are copied, with more they are not.
TEST(DecisionTree, CopiesOfBinsChangeNothing) {
  Threads threads(2);
  const TestData data = make_data(70000, 5, 30);
  TestData wide = {data.rows, 33, std::vector<float>(static_cast<std::size_t>(data.rows) * 33), {}};
  for (std::int64_t row = 0; row < data.rows; ++row)
    std::copy_n(data.values.begin() + row * 5, 5, wide.values.begin() + row * 33);
  ForestOptions options = classifier(12);
  expect_same(train_forest(data.matrix(), {data.labels, {}}, options, threads),
              train_forest(wide.matrix(), {data.labels, {}}, options, threads));
}

TEST(DecisionTree, OneClassOneRowNoRow) {
  Threads threads(2);
  const TestData data = make_data(50, 3);
  const std::vector<double> ones(50, 1.0);
  const Model model = train_forest(data.matrix(), {ones, {}}, classifier(), threads);
  EXPECT_EQ(model.trees[0].nodes.size(), 1);
  EXPECT_EQ(model.trees[0].value(0)[1], 1);
  const Model single =
      train_forest(data.matrix(0, 1), {{ones.data(), 1}, {}}, classifier(), threads);
  EXPECT_EQ(single.trees[0].nodes.size(), 1);
  EXPECT_THROW(train_forest(data.matrix(0, 0), {{}, {}}, classifier(), threads), ConfigError);
}

TEST(DecisionTree, MissingValuesAreSeparated) {
  Threads threads(1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {nan, 1, 2, nan, 3, nan};
  const std::vector<double> labels = {1, 0, 0, 1, 0, 1};
  const Matrix matrix = {Storage::kDense, DType::kF32, 6, 1, values.data(), 1, 1};
  const Model model = train_forest(matrix, {labels, {}}, classifier(1), threads);
  EXPECT_EQ(accuracy(predict_raw(model, matrix, threads), labels, 2), 1);
}

TEST(DecisionTree, CategoriesArePartitionedInOneSplit) {
  Threads threads(1);
  std::vector<float> values;
  std::vector<double> labels;
  for (int i = 0; i < 400; ++i) {
    values.push_back(static_cast<float>(i % 10));
    labels.push_back(i % 10 == 2 || i % 10 == 5 || i % 10 == 9 ? 1 : 0);
  }
  const Matrix matrix = {Storage::kDense, DType::kF32, 400, 1, values.data(), 1, 1};
  for (const int classes : {0, 2}) {
    ForestOptions options = classifier(1);
    options.classes = classes;
    options.bins.categorical = {0};
    const Model model = train_forest(matrix, {labels, {}}, options, threads);
    const auto raw = predict_raw(model, matrix, threads);
    for (std::size_t i = 0; i < labels.size(); ++i)
      ASSERT_NEAR(classes == 2 ? raw[2 * i + 1] : raw[i], labels[i], 1e-6);
  }
}

TEST(DecisionTree, RegressionLeavesHoldMeans) {
  Threads threads(2);
  const TestData data = make_data(5000, 3);
  std::vector<double> labels;
  for (std::size_t i = 0; i < 5000; ++i) labels.push_back(1e6 + data.values[i * 3] * 3.0);
  ForestOptions options;
  options.max_depth = 3;
  const Model model = train_forest(data.matrix(), {labels, {}}, options, threads);
  const auto predictions = predict_raw(model, data.matrix(), threads);
  std::map<double, std::pair<double, int>> leaves;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    leaves[predictions[i]].first += labels[i];
    ++leaves[predictions[i]].second;
  }
  EXPECT_EQ(leaves.size(), 8);
  for (const auto& [value, sum] : leaves) EXPECT_NEAR(value, sum.first / sum.second, 1e-6);
}

TEST(DecisionTree, LeavesHaveTheMinimumNumberOfRows) {
  Threads threads(2);
  const TestData data = make_data(4000, 5);
  ForestOptions options = classifier();
  options.min_samples_leaf = 37;
  const Model model = train_forest(data.matrix(), {data.labels, {}}, options, threads);
  for (const Node& node : model.trees[0].nodes) EXPECT_GE(node.count, 37);
  EXPECT_GT(model.trees[0].leaves(), 20);
}

TEST(Forest, IsBetterThanItsTrees) {
  Threads threads(2);
  const TestData train = make_data(4000, 8), test = make_data(4000, 8, 0, 5);
  ForestOptions options = classifier();
  const double one =
      accuracy(predict_raw(train_forest(train.matrix(), {train.labels, {}}, options, threads),
                           test.matrix(), threads),
               test.labels, 2);
  options.trees = 30;
  options.bootstrap = true;
  options.columns_per_node = 3;
  const Model forest = train_forest(train.matrix(), {train.labels, {}}, options, threads);
  EXPECT_GT(accuracy(predict_raw(forest, test.matrix(), threads), test.labels, 2), one + 0.02);
  options.bootstrap = false;
  options.random_thresholds = true;
  const Model extra = train_forest(train.matrix(), {train.labels, {}}, options, threads);
  EXPECT_GT(accuracy(predict_raw(extra, test.matrix(), threads), test.labels, 2), one + 0.02);
}

// Regression test: the threshold between the two smallest values was never drawn.
TEST(Forest, RandomThresholdsAreUniform) {
  const std::vector<float> values = {0, 1, 2, 10, 10.5F};
  std::vector<float> column;
  std::vector<double> labels;
  for (int i = 0; i < 500; ++i) {
    column.push_back(values[static_cast<std::size_t>(i % 5)]);
    labels.push_back(i % 7);
  }
  const Matrix matrix = {Storage::kDense, DType::kF32, 500, 1, column.data(), 1, 1};
  Threads threads(1);
  for (const bool is_exact : {false, true}) {
    ForestOptions options;
    options.trees = 5000;
    options.max_depth = 1;
    options.random_thresholds = true;
    options.exact_splits = is_exact;
    std::vector<double> counts(5);
    for (const Tree& tree : train_forest(matrix, {labels, {}}, options, threads).trees)
      ++counts[static_cast<std::size_t>(
          std::upper_bound(values.begin(), values.end(), tree.nodes[0].threshold) -
          values.begin())];
    for (std::size_t i = 1; i < 5; ++i)
      EXPECT_NEAR(counts[i] / 5000, (values[i] - values[i - 1]) / 10.5, 0.025) << i << is_exact;
  }
}

// Regression test: a row that was drawn several times overflowed 32 bits, and its label changed.
TEST(Forest, RepeatedRowsCountAsOftenAsTheyAreDrawn) {
  const TestData data = make_data(2000, 3);
  std::vector<double> labels, weights;
  for (int i = 0; i < 2000; ++i) {
    labels.push_back(i % 4 == 0 ? 3 : -1);
    weights.push_back(0.7 + 0.1 * (i % 7));
  }
  Threads threads(1);
  for (const int classes : {0, 2, 3}) {
    ForestOptions options;
    options.classes = classes;
    options.trees = 5;
    options.max_depth = 1;
    options.bootstrap = true;
    options.seed = 7;
    std::vector<double> targets = labels;
    if (classes > 0)
      for (double& label : targets) label = label > 0 ? classes - 1 : 0;
    const Model model = train_forest(data.matrix(), {targets, weights}, options, threads);
    for (int tree = 0; tree < 5; ++tree) {
      double sum = 0, total = 0;
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const double weight =
            weights[i] * bootstrap_copies(options, tree, static_cast<std::int64_t>(i));
        sum += weight * (classes > 0 ? targets[i] > 0 : targets[i]);
        total += weight;
      }
      EXPECT_NEAR(model.trees[static_cast<std::size_t>(tree)].value(0).back(), sum / total, 1e-6);
    }
  }
}

TEST(Forest, TheCallbackMayStopIt) {
  const TestData data = make_data(500, 4);
  Threads threads(2);
  ForestOptions options;
  options.classes = 2;
  options.trees = 1000;
  options.progress = [](int trees) { return trees < 5; };
  const Model model = train_forest(data.matrix(), {data.labels, {}}, options, threads);
  EXPECT_GE(model.trees.size(), 5U);
  EXPECT_LT(model.trees.size(), 1000U);
  EXPECT_NO_THROW(model.check());
}

TEST(Forest, InvalidInputIsRejected) {
  Threads threads(1);
  const TestData data = make_data(10, 2);
  std::vector<double> labels = data.labels;
  EXPECT_THROW(train_forest(data.matrix(), {{labels.data(), 9}, {}}, classifier(), threads),
               ConfigError);
  labels[3] = 2;
  EXPECT_THROW(train_forest(data.matrix(), {labels, {}}, classifier(), threads), ConfigError);
  labels[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(train_forest(data.matrix(), {labels, {}}, ForestOptions(), threads), ConfigError);
  const std::vector<double> weights(10, -1.0), zeros(10, 0.0);
  EXPECT_THROW(train_forest(data.matrix(), {data.labels, weights}, classifier(), threads),
               ConfigError);
  EXPECT_THROW(train_forest(data.matrix(), {data.labels, zeros}, classifier(), threads),
               ConfigError);
  ForestOptions none = classifier();
  none.trees = 0;
  EXPECT_THROW(train_forest(data.matrix(), {data.labels, {}}, none, threads), ConfigError);
}

}  // namespace
}  // namespace tutti::learn::tree
