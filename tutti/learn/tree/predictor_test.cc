#include "tutti/learn/tree/predict/predictor.h"

#include <gtest/gtest.h>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/model/test_data.h"

namespace tutti::learn::tree {
namespace {

// Compares packed prediction with Tree::leaf_of for categories, missing values and several outputs.
TEST(Predictor, AllMethodsFindTheSameLeaf) {
  Threads threads(2);
  TestData data = make_data(3000, 5, 10);
  for (std::size_t i = 0; i < 3000; ++i) data.values[i * 5 + 4] = static_cast<float>(i * 7 % 13);
  std::vector<double> labels;
  for (std::size_t i = 0; i < 3000; ++i)
    labels.push_back((i * 7 % 13 + (data.values[i * 5] > 0 ? 1 : 0)) % 3);
  ForestOptions options;
  options.classes = 3;
  options.trees = 20;
  options.bootstrap = true;
  options.columns_per_node = 2;
  options.bins.categorical = {4};
  const Model model = train_forest(data.matrix(), {labels, {}}, options, threads);
  // Includes categories that did not occur in training.
  for (std::size_t i = 0; i < 3000; i += 17) data.values[i * 5 + 4] = 99;
  const Predictor predictor(model);
  std::vector<double> all(9000), one(3);
  predictor.predict(data.matrix(), all, threads);
  std::vector<std::int32_t> leaves(3000 * 20);
  predictor.leaves(data.matrix(), leaves, threads);
  const std::vector<double> doubles(data.values.begin(), data.values.end());
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::span<const double> row(doubles.data() + i * 5, 5);
    std::vector<double> expected(3);
    for (std::size_t t = 0; t < 20; ++t) {
      const std::int32_t leaf = model.trees[t].leaf_of(row);
      ASSERT_EQ(leaves[i * 20 + t], leaf);
      for (std::size_t k = 0; k < 3; ++k) expected[k] += model.trees[t].value(leaf)[k] / 20;
    }
    predictor.predict_row(std::span<const float>(data.values.data() + i * 5, 5), one);
    for (std::size_t k = 0; k < 3; ++k) {
      ASSERT_NEAR(all[i * 3 + k], expected[k], 1e-12);
      ASSERT_EQ(all[i * 3 + k], one[k]);
    }
    predictor.predict_row(row, one);
    for (std::size_t k = 0; k < 3; ++k) ASSERT_EQ(all[i * 3 + k], one[k]);
  }
}

TEST(Predictor, SparseRowsAndOtherLayouts) {
  Threads threads(2);
  TestData data = make_data(1000, 3);
  for (std::size_t i = 0; i < data.values.size(); i += 2) data.values[i] = 0;
  ForestOptions options;
  options.classes = 2;
  const Model model = train_forest(data.matrix(), {data.labels, {}}, options, threads);
  const auto expected = predict_raw(model, data.matrix(), threads);
  const Matrix rows = to_storage(data.matrix(), Storage::kCsr, threads);
  EXPECT_EQ(predict_raw(model, rows, threads), expected);
  EXPECT_EQ(predict_raw(model, to_storage(rows, Storage::kCsc, threads), threads), expected);
  expect_same(train_forest(rows, {data.labels, {}}, options, threads), model);
  EXPECT_THROW(predict_raw(model, make_data(5, 4).matrix(), threads), ConfigError);
}

TEST(Predictor, InconsistentModelsAreRejected) {
  Model model;
  model.columns = 1;
  model.base = {0};
  model.tree_output = {0};
  model.trees.resize(1);
  EXPECT_THROW(Predictor{model}, ConfigError);  // no node
  model.trees[0].nodes.resize(1);
  model.trees[0].values = {1};
  EXPECT_NO_THROW(Predictor{model});
  model.trees[0].nodes[0].left = 0;
  model.trees[0].nodes[0].right = 0;
  EXPECT_THROW(Predictor{model}, ConfigError);  // points to itself
}

}  // namespace
}  // namespace tutti::learn::tree
