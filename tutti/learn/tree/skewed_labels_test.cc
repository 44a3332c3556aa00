// Regression trees on skewed labels, splits without a gain, and exact minimum leaf sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/residency.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/model/test_data.h"
#include "tutti/learn/tree/predict/predictor.h"

namespace tutti::learn::tree {
namespace {

constexpr const char* kLabelKinds[] = {"outlier", "log-normal", "parity", "zeros", "integers"};
constexpr const char* kWeightKinds[] = {"none", "integers", "fractions", "one large"};

std::vector<double> labels_of(const std::string& kind, const TestData& data) {
  std::vector<double> labels;
  for (std::int64_t row = 0; row < data.rows; ++row) {
    const float* x = data.values.data() + row * data.columns;
    const double a = std::isnan(x[0]) ? 0 : x[0], b = std::isnan(x[1]) ? 0 : x[1];
    if (kind == "outlier") labels.push_back(row == 7 ? 1e6 : 1 + 0.1 * a);
    if (kind == "log-normal") labels.push_back(std::exp(5 * a + b));
    if (kind == "parity") labels.push_back((a > 0) != (b > 0) ? 1 : 0);
    if (kind == "zeros") labels.push_back(a > 1 ? a : 0);
    if (kind == "integers") labels.push_back(std::floor(3 * a + b) + 1e9);
  }
  return labels;
}

std::vector<double> weights_of(const std::string& kind, std::int64_t rows) {
  std::mt19937 random(3);
  std::vector<double> weights;
  for (std::int64_t row = 0; row < rows && kind != "none"; ++row) {
    if (kind == "integers") weights.push_back(static_cast<double>(random() % 5));
    if (kind == "fractions") weights.push_back(static_cast<double>(random() % 1000 + 1) / 777);
    if (kind == "one large") weights.push_back(row == 3 ? 1e4 : 0.37);
  }
  return weights;
}

class SkewedLabels : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  std::vector<double> labels(const TestData& data) const {
    return labels_of(std::get<0>(GetParam()), data);
  }
  std::vector<double> weights(const TestData& data) const {
    return weights_of(std::get<1>(GetParam()), data.rows);
  }
};

TEST_P(SkewedLabels, GrowUntilAllLabelsAreSeparated) {
  Threads threads(2);
  const TestData data = make_data(240, 4);  // fewer than bins
  const std::vector<double> y = labels(data), w = weights(data);
  for (const bool is_exact : {false, true}) {
    ForestOptions options;
    options.exact_splits = is_exact;
    const Model model = train_forest(data.matrix(), {y, w}, options, threads);
    const std::vector<double> found = predict_raw(model, data.matrix(), threads);
    const double reach = *std::max_element(y.begin(), y.end());
    for (std::size_t row = 0; row < y.size(); ++row) {
      if (!w.empty() && w[row] == 0) continue;
      ASSERT_NEAR(found[row], y[row], 1e-9 * reach + 1e-9 * std::abs(y[row])) << row;
    }
    for (const Node& node : model.trees[0].nodes) ASSERT_GE(node.gain, 0);
  }
}

TEST_P(SkewedLabels, GiveTheSameTreeForAnyThreadsRanksAndMemory) {
  const TestData data = make_data(3001, 4, 15);
  const std::vector<double> y = labels(data), w = weights(data);
  Threads one(1), three(3);
  ForestOptions options;
  options.max_depth = 9;
  options.min_samples_leaf = 3;
  const Model expected = train_forest(data.matrix(), {y, w}, options, one);
  EXPECT_GE(expected.trees[0].depth(), 2);
  expect_same(train_forest(data.matrix(), {y, w}, options, three), expected);
  comm::ThreadWorld world(3);
  world.run([&](comm::Transport& transport) {
    const auto communicator =
        comm::Communicator::create(std::shared_ptr<comm::Transport>(&transport, [](auto*) {}));
    const int rank = communicator->rank();
    const std::int64_t begin = data.rows * rank / 3, end = data.rows * (rank + 1) / 3;
    const auto part = [&](const std::vector<double>& all) {
      return all.empty() ? std::span<const double>()
                         : std::span(all).subspan(static_cast<std::size_t>(begin),
                                                  static_cast<std::size_t>(end - begin));
    };
    Threads own(rank % 2 + 1);
    const Targets targets = {part(y), part(w)};
    expect_same(train_forest(data.matrix(begin, end), targets, options, own, communicator.get()),
                expected);
  });
  options.memory_limit = resident_bytes() + (96 << 20);
  expect_same(train_forest(data.matrix(), {y, w}, options, three), expected);
}

TEST_P(SkewedLabels, GiveTheSameTreeLevelByLevelAndBestFirst) {
  Threads threads(2);
  const TestData data = make_data(150000, 3);
  const std::vector<double> y = labels(data), w = weights(data);
  ForestOptions options;
  options.max_depth = 4;
  const Model by_levels = train_forest(data.matrix(), {y, w}, options, threads);
  EXPECT_GE(by_levels.trees[0].depth(), 2);
  options.max_leaves = 1 << 10;
  expect_same(by_levels, train_forest(data.matrix(), {y, w}, options, threads));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SkewedLabels,
                         testing::Combine(testing::ValuesIn(kLabelKinds),
                                          testing::ValuesIn(kWeightKinds)));

TEST(EqualLabels, GiveOneLeaf) {
  Threads threads(2);
  const TestData data = make_data(2000, 3);
  for (const double label : {0.0, 1.0, 1.0 / 3, -1e300, 5e-324})
    for (const char* kind : kWeightKinds)
      for (const bool is_exact : {false, true}) {
        ForestOptions options;
        options.exact_splits = is_exact;
        const std::vector<double> y(2000, label), w = weights_of(kind, 2000);
        const Model model = train_forest(data.matrix(), {y, w}, options, threads);
        EXPECT_EQ(model.trees[0].nodes.size(), 1) << label << " " << kind;
        EXPECT_DOUBLE_EQ(predict_raw(model, data.matrix(), threads)[0], label);
      }
}

TEST(EqualLabels, ShortLabelsArePredictedExactly) {
  Threads threads(2);
  const TestData data = make_data(240, 3);
  for (const double unit : {1.0, 0.125, 3e9})
    for (const char* kind : {"none", "integers"}) {
      std::vector<double> y, w = weights_of(kind, 240);
      for (std::int64_t row = 0; row < 240; ++row) y.push_back(static_cast<double>(row % 7) * unit);
      const Model model = train_forest(data.matrix(), {y, w}, {}, threads);
      const std::vector<double> found = predict_raw(model, data.matrix(), threads);
      for (std::size_t row = 0; row < y.size(); ++row) {
        if (!w.empty() && w[row] == 0) continue;
        ASSERT_EQ(found[row], y[row]) << kind << " " << unit;
      }
    }
}

TEST(EqualLabels, AreNotSplitNextToAnOutlier) {
  Threads threads(2);
  const TestData data = make_data(240, 3);
  for (const char* kind : kWeightKinds) {
    std::vector<double> y;
    for (std::int64_t row = 0; row < 240; ++row)
      y.push_back(data.values[row * 3] > 2 ? 1e12 : data.values[row * 3] > 0 ? 1.0 / 3 : 0.1);
    const Model model = train_forest(data.matrix(), {y, weights_of(kind, 240)}, {}, threads);
    EXPECT_LE(model.trees[0].leaves(), 3) << kind;
  }
}

// Returns the smallest number of rows of weight above 0 in a leaf.
std::int64_t least_rows(const Model& model, const Matrix& matrix, const std::vector<double>& w,
                        const ForestOptions& options) {
  Threads threads(1);
  const std::size_t trees = model.trees.size();
  std::vector<std::int32_t> leaves(static_cast<std::size_t>(matrix.rows) * trees);
  Predictor(model).leaves(matrix, leaves, threads);
  std::int64_t least = matrix.rows;
  for (std::size_t tree = 0; tree < trees; ++tree) {
    std::map<std::int32_t, std::int64_t> counts;
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      const bool is_used =
          (w.empty() || w[static_cast<std::size_t>(row)] > 0) &&
          (!options.bootstrap || bootstrap_copies(options, static_cast<int>(tree), row) > 0);
      if (is_used) ++counts[leaves[static_cast<std::size_t>(row) * trees + tree]];
    }
    for (const auto& [leaf, count] : counts) {
      least = std::min(least, count);
      EXPECT_EQ(count, model.trees[tree].nodes[static_cast<std::size_t>(leaf)].count);
    }
  }
  return least;
}

TEST(MinSamplesLeaf, CountsRowsWhateverTheirWeights) {
  Threads threads(2);
  const TestData data = make_data(3000, 4, 20);
  for (const int classes : {0, 2, 3})
    for (const char* kind : {"none", "integers", "fractions", "one large"})
      for (const int variant : {0, 1, 2, 3, 4}) {
        ForestOptions options;
        options.classes = classes;
        options.min_samples_leaf = 20;
        options.exact_splits = variant == 1;
        options.bootstrap = variant == 2;
        options.random_thresholds = variant == 3;
        options.trees = variant == 2 ? 3 : 1;
        options.max_leaves = variant == 4 ? 40 : 0;
        std::vector<double> y = data.labels;
        for (std::size_t i = 0; i < y.size() && classes == 3; i += 3) y[i] = 2;
        const std::vector<double> w = weights_of(kind, data.rows);
        const Model model = train_forest(data.matrix(), {y, w}, options, threads);
        EXPECT_GE(model.trees[0].leaves(), 10);
        EXPECT_GE(least_rows(model, data.matrix(), w, options), 20)
            << classes << " classes, weights: " << kind << ", variant " << variant;
      }
}

TEST(MinSamplesLeaf, CountsRowsOfCategories) {
  Threads threads(2);
  TestData data = make_data(3000, 3);
  for (std::int64_t row = 0; row < data.rows; ++row)
    data.values[row * 3] = std::floor(5 * std::abs(data.values[row * 3]));
  ForestOptions options;
  options.classes = 2;
  options.min_samples_leaf = 30;
  options.bins.categorical = {0};
  const std::vector<double> w = weights_of("fractions", data.rows);
  const Model model = train_forest(data.matrix(), {data.labels, w}, options, threads);
  EXPECT_GE(least_rows(model, data.matrix(), w, options), 30);
}

}  // namespace
}  // namespace tutti::learn::tree
