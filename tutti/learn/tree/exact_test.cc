#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/model/test_data.h"

namespace tutti::learn::tree {
namespace {

ForestOptions exact_tree(int classes, int max_depth = 0) {
  ForestOptions options;
  options.classes = classes;
  options.max_depth = max_depth;
  options.exact_splits = true;
  return options;
}

// Few enough distinct values per column that each has a bin.
TestData coarse_data(std::int64_t rows, std::int64_t columns, int missing_of) {
  TestData data = make_data(rows, columns, missing_of);
  for (float& value : data.values) value = std::round(value * 20) / 20;
  return data;
}

std::vector<double> three_classes(const TestData& data) {
  std::vector<double> labels = data.labels;
  for (std::size_t i = 0; i < labels.size(); i += 3) labels[i] = 2;
  return labels;
}

class ExactKinds : public testing::TestWithParam<int> {
 protected:
  ForestOptions options() const {
    ForestOptions made = exact_tree(2, 7);
    switch (GetParam()) {
      case 0: break;
      case 1: made.classes = 0; break;
      case 2: made.classes = 3; break;
      case 3: made.uses_entropy = true; break;
      case 4: made.max_leaves = 40, made.max_depth = 0; break;
      case 5: made.trees = 3, made.bootstrap = true, made.columns_per_node = 3; break;
      default: made.min_samples_leaf = 25;
    }
    return made;
  }
  std::vector<double> labels(const TestData& data) const {
    return options().classes == 3 ? three_classes(data) : data.labels;
  }
};

// The splits then partition the rows identically; thresholds may differ where a node lacks some values.
TEST_P(ExactKinds, MatchesHistogramsIfEveryValueHasABin) {
  Threads threads(2);
  const TestData data = coarse_data(6000, 5, 11);
  ForestOptions asked = options();
  const Model exact = train_forest(data.matrix(), {labels(data), {}}, asked, threads);
  asked.exact_splits = false;
  const Model bins = train_forest(data.matrix(), {labels(data), {}}, asked, threads);
  ASSERT_EQ(exact.trees[0].nodes.size(), bins.trees[0].nodes.size());
  for (std::size_t i = 0; i < exact.trees[0].nodes.size(); ++i)
    ASSERT_NEAR(exact.trees[0].nodes[i].gain, bins.trees[0].nodes[i].gain, 1e-6);
  if (asked.bootstrap) return;  // rows that were not sampled may be between two thresholds
  const auto a = predict_raw(exact, data.matrix(), threads);
  const auto b = predict_raw(bins, data.matrix(), threads);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-9);
}

TEST_P(ExactKinds, IsTheSameForAnyNumberOfThreads) {
  Threads one(1), three(3);
  const TestData data = make_data(40000, 6, 20);
  expect_same(train_forest(data.matrix(), {labels(data), {}}, options(), one),
              train_forest(data.matrix(), {labels(data), {}}, options(), three));
}
INSTANTIATE_TEST_SUITE_P(All, ExactKinds, testing::Range(0, 7));

TEST(ExactSplits, SeparateAllRows) {
  Threads threads(2);
  const TestData data = make_data(20000, 1);
  const Model exact = train_forest(data.matrix(), {data.labels, {}}, exact_tree(2), threads);
  EXPECT_GT(accuracy(predict_raw(exact, data.matrix(), threads), data.labels, 2), 0.999);
  ForestOptions with_bins = exact_tree(2);
  with_bins.exact_splits = false;
  const Model bins = train_forest(data.matrix(), {data.labels, {}}, with_bins, threads);
  EXPECT_LT(accuracy(predict_raw(bins, data.matrix(), threads), data.labels, 2), 0.95);
}

// Variance reduction of the best split of any column, by brute force.
double best_gain(const TestData& data, const std::vector<double>& weights) {
  double best = 0;
  const auto score = [&](const auto& belongs) {
    double sum = 0, weight = 0;
    for (std::size_t i = 0; i < data.labels.size(); ++i)
      if (belongs(i)) sum += weights[i] * data.labels[i], weight += weights[i];
    return weight > 0 ? sum * sum / weight : 0;
  };
  for (std::size_t c = 0; c < static_cast<std::size_t>(data.columns); ++c)
    for (std::size_t threshold_row = 0; threshold_row < data.labels.size(); ++threshold_row)
      for (const bool missing_left : {false, true}) {
        const auto goes_left = [&](std::size_t i) {
          const float value = data.values[i * static_cast<std::size_t>(data.columns) + c];
          return std::isnan(value)
                     ? missing_left
                     : value <=
                           data.values[threshold_row * static_cast<std::size_t>(data.columns) + c];
        };
        best =
            std::max(best, score(goes_left) + score([&](std::size_t i) { return !goes_left(i); }));
      }
  return best - score([](std::size_t) { return true; });
}

TEST(ExactSplits, TheFirstSplitIsTheBest) {
  Threads threads(1);
  for (const int missing_of : {0, 5}) {
    const TestData data = make_data(400, 4, missing_of);
    std::vector<double> weights;
    for (std::size_t i = 0; i < data.labels.size(); ++i)
      weights.push_back(static_cast<double>(i % 4));
    const Model model =
        train_forest(data.matrix(), {data.labels, weights}, exact_tree(0, 1), threads);
    EXPECT_NEAR(model.trees[0].nodes[0].gain, best_gain(data, weights), 1e-5);
  }
}

// The same values as a sparse matrix with some explicit zeros.
struct SparseCopy {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> indices;
  std::vector<double> values;
  Matrix matrix;

  explicit SparseCopy(const TestData& data) {
    for (std::int64_t row = 0; row < data.rows; ++row) {
      for (std::int64_t c = 0; c < data.columns; ++c) {
        const float value = data.values[static_cast<std::size_t>(row * data.columns + c)];
        if (value == 0 && row % 5 != 0) continue;
        indices.push_back(static_cast<std::int32_t>(c));
        values.push_back(value);
      }
      offsets.push_back(static_cast<std::int64_t>(values.size()));
    }
    matrix = {.storage = Storage::kCsr,
              .dtype = DType::kF64,
              .rows = data.rows,
              .columns = data.columns,
              .values = values.data(),
              .offsets = offsets.data(),
              .indices = indices.data()};
  }
};

TEST(ExactSplits, SparseZerosAreZeros) {
  Threads threads(2);
  TestData data = make_data(4000, 7, 13);
  for (std::size_t i = 0; i < data.values.size(); ++i)
    if (i % 3 != 0) data.values[i] = 0;
  const SparseCopy sparse(data);
  const std::vector<double> dense(data.values.begin(), data.values.end());
  const Matrix by_columns = to_storage(sparse.matrix, Storage::kCsc, threads);
  const Matrix matrix = {Storage::kDense, DType::kF64, data.rows, data.columns, dense.data(), 7, 1};
  for (const int classes : {0, 2, 3})
    for (const int drawn : {0, 3}) {
      ForestOptions options = exact_tree(classes, 9);
      options.columns_per_node = drawn;
      const auto labels = classes == 3 ? three_classes(data) : data.labels;
      const Model wanted = train_forest(matrix, {labels, {}}, options, threads);
      EXPECT_GT(wanted.trees[0].leaves(), 30);
      expect_same(wanted, train_forest(sparse.matrix, {labels, {}}, options, threads));
      expect_same(wanted, train_forest(by_columns, {labels, {}}, options, threads));
    }
}

TEST(ExactSplits, WeightsAreRepetitions) {
  Threads threads(2);
  const TestData data = make_data(1500, 4, 9);
  TestData repeated = {0, 4, {}, {}};
  std::vector<double> weights;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    weights.push_back(static_cast<double>(i % 3));
    for (std::size_t k = 0; k < i % 3; ++k, ++repeated.rows) {
      const auto from = data.values.begin() + static_cast<std::ptrdiff_t>(i * 4);
      repeated.values.insert(repeated.values.end(), from, from + 4);
      repeated.labels.push_back(data.labels[i]);
    }
  }
  const Model a = train_forest(data.matrix(), {data.labels, weights}, exact_tree(2, 8), threads);
  const Model b = train_forest(repeated.matrix(), {repeated.labels, {}}, exact_tree(2, 8), threads);
  EXPECT_EQ(a.trees[0].values, b.trees[0].values);
  EXPECT_EQ(predict_raw(a, data.matrix(), threads), predict_raw(b, data.matrix(), threads));
}

TEST(ExactSplits, ExtraTreesUseRandomThresholds) {
  Threads threads(2);
  const TestData train = make_data(4000, 6, 15), test = make_data(4000, 6, 15, 5);
  ForestOptions options = exact_tree(2);
  options.trees = 20;
  options.random_thresholds = true;
  const Model model = train_forest(train.matrix(), {train.labels, {}}, options, threads);
  EXPECT_NO_THROW(model.check());
  EXPECT_GT(accuracy(predict_raw(model, test.matrix(), threads), test.labels, 2), 0.78);
  EXPECT_NE(model.trees[0].nodes[0].threshold, model.trees[1].nodes[0].threshold);
}

TEST(ExactSplits, OneRowOrOneClassGivesOneLeaf) {
  Threads threads(1);
  const TestData data = make_data(50, 3);
  const std::vector<double> ones(50, 1.0);
  EXPECT_EQ(train_forest(data.matrix(), {ones, {}}, exact_tree(2), threads).trees[0].leaves(), 1);
  const std::vector<float> nothing(50, std::numeric_limits<float>::quiet_NaN());
  const Matrix missing = {Storage::kDense, DType::kF32, 50, 1, nothing.data(), 1, 1};
  EXPECT_EQ(train_forest(missing, {data.labels, {}}, exact_tree(2), threads).trees[0].leaves(), 1);
  EXPECT_EQ(
      train_forest(data.matrix(0, 1), {{ones.data(), 1}, {}}, exact_tree(2), threads).trees.size(),
      1);
}

TEST(ExactSplits, BoostingMatchesHistogramsIfEveryValueHasABin) {
  Threads threads(2);
  const TestData train = coarse_data(5000, 5, 9), test = make_data(2000, 5, 9, 4);
  BoostOptions options;
  options.objective = "logistic";
  options.rounds = 15;
  options.early_stopping_rounds = 100;
  const ValidationSet validation = {train.matrix(), {train.labels, {}}};
  const Boosted bins =
      train_boosting(train.matrix(), {train.labels, {}}, options, threads, &validation);
  options.exact_splits = true;
  const Boosted exact =
      train_boosting(train.matrix(), {train.labels, {}}, options, threads, &validation);
  ASSERT_EQ(exact.validation_losses.size(), 15);
  for (std::size_t round = 0; round < 15; ++round)
    EXPECT_NEAR(exact.validation_losses[round], bins.validation_losses[round], 1e-6);
  EXPECT_GT(accuracy(predict_raw(exact.model, test.matrix(), threads), test.labels, 1), 0.8);
  const SparseCopy sparse(train);
  const Boosted of_sparse = train_boosting(to_storage(sparse.matrix, Storage::kCsc, threads),
                                           {train.labels, {}}, options, threads, &validation);
  EXPECT_NEAR(of_sparse.validation_losses.back(), exact.validation_losses.back(), 1e-9);
  options.subsample = 0.5;
  const Boosted half =
      train_boosting(train.matrix(), {train.labels, {}}, options, threads, &validation);
  EXPECT_NEAR(half.validation_losses.back(), exact.validation_losses.back(), 0.02);
  EXPECT_NE(half.validation_losses.back(), exact.validation_losses.back());
}

TEST(ExactSplits, UnsupportedOptionsAreRejected) {
  Threads threads(1);
  const TestData data = make_data(100, 3);
  ForestOptions limited = exact_tree(2), categories = exact_tree(2);
  limited.memory_limit = 1 << 30;
  categories.bins.categorical = {1};
  for (const ForestOptions& options : {limited, categories})
    EXPECT_THROW(train_forest(data.matrix(), {data.labels, {}}, options, threads), ConfigError);
  BoostOptions boost;
  boost.exact_splits = true;
  const ValidationSet narrow = {make_data(10, 2).matrix(), {{data.labels.data(), 10}, {}}};
  EXPECT_THROW(train_boosting(data.matrix(), {data.labels, {}}, boost, threads, &narrow),
               ConfigError);
}

}  // namespace
}  // namespace tutti::learn::tree
