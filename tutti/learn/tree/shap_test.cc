#include "tutti/learn/tree/predict/shap.h"

#include <gtest/gtest.h>

#include <bit>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/io/model_json.h"
#include "tutti/learn/tree/model/test_data.h"

namespace tutti::learn::tree {
namespace {

// Prediction of a tree if only the columns in `known` are known: at nodes of other columns, the average of both
// children by their covers.
double conditional(const Tree& tree, std::int32_t at, std::span<const double> row, unsigned known) {
  const Node& node = tree.nodes[static_cast<std::size_t>(at)];
  if (node.is_leaf()) return tree.value(at)[0];
  if ((known >> node.column & 1) != 0)
    return conditional(
        tree,
        tree.goes_left(node, row[static_cast<std::size_t>(node.column)]) ? node.left : node.right,
        row, known);
  const double left = tree.nodes[static_cast<std::size_t>(node.left)].cover / node.cover;
  return left * conditional(tree, node.left, row, known) +
         (1 - left) * conditional(tree, node.right, row, known);
}

double factorial(int n) {
  return n <= 1 ? 1 : n * factorial(n - 1);
}

TEST(Shap, IsTheMeanOverAllOrders) {
  Threads threads(2);
  constexpr int kColumns = 5;
  const TestData data = make_data(500, kColumns, 12);
  BoostOptions options;
  options.objective = "logistic";
  options.rounds = 3;
  options.min_samples_leaf = 5;
  const Model model = train_boosting(data.matrix(), {data.labels, {}}, options, threads).model;
  const auto values = shap_values(model, data.matrix(0, 20), threads);
  const auto raw = predict_raw(model, data.matrix(0, 20), threads);
  for (std::size_t r = 0; r < 20; ++r) {
    const std::vector<double> row(
        data.values.begin() + static_cast<std::ptrdiff_t>(r * kColumns),
        data.values.begin() + static_cast<std::ptrdiff_t>((r + 1) * kColumns));
    double sum = values[r * 6 + kColumns];
    for (int c = 0; c < kColumns; ++c) {
      double expected = 0;
      for (unsigned others = 0; others < 1u << kColumns; ++others) {
        if ((others >> c & 1) != 0) continue;
        const int size = std::popcount(others);
        const double weight =
            factorial(size) * factorial(kColumns - 1 - size) / factorial(kColumns);
        for (const Tree& tree : model.trees)
          expected += weight * (conditional(tree, 0, row, others | 1u << c) -
                                conditional(tree, 0, row, others));
      }
      ASSERT_NEAR(values[r * 6 + static_cast<std::size_t>(c)], expected, 1e-10)
          << "row " << r << " column " << c;
      sum += values[r * 6 + static_cast<std::size_t>(c)];
    }
    ASSERT_NEAR(sum, raw[r], 1e-10);
  }
}

TEST(Shap, AddsUpForForestsOfClasses) {
  Threads threads(2);
  const TestData data = make_data(300, 4);
  ForestOptions options;
  options.classes = 2;
  options.trees = 4;
  options.bootstrap = true;
  const Model model = train_forest(data.matrix(), {data.labels, {}}, options, threads);
  const auto values = shap_values(model, data.matrix(), threads);
  const auto raw = predict_raw(model, data.matrix(), threads);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < 5; ++c) sum += values[i * 5 + c];
    ASSERT_NEAR(sum, raw[i], 1e-9);
  }
}

TEST(ModelJson, RoundTripsBitwise) {
  Threads threads(2);
  TestData data = make_data(800, 3, 8);
  for (std::size_t i = 0; i < 800; ++i) data.values[i * 3 + 2] = static_cast<float>(i % 6);
  ForestOptions options;
  options.classes = 2;
  options.trees = 3;
  options.bins.categorical = {2};
  Model model = train_forest(data.matrix(), {data.labels, {}}, options, threads);
  model.column_names = {"a", "b", "c"};
  const Model back = from_json(to_json(model));
  expect_same(back, model);
  EXPECT_EQ(predict_raw(back, data.matrix(), threads), predict_raw(model, data.matrix(), threads));
  EXPECT_EQ(back.column_names, model.column_names);
  EXPECT_EQ(to_json(back), to_json(model));
}

TEST(ModelJson, DamagedTextIsRejected) {
  const std::string text =
      R"({"format":"tutti-trees","version":1,"columns":1,"outputs":1,"link":"identity","averages":false,"base":[0.0],"column_names":[],"trees":[{"output":0,"outputs":1,"left":[1,-1,-1],"right":[2,-1,-1],"column":[0,-1,-1],"threshold":[1.0,0.0,0.0],"missing_left":[0,0,0],"gain":[1.0,0.0,0.0],"cover":[2.0,1.0,1.0],"count":[2,1,1],"values":[0.0,1.0,2.0]}]})";
  EXPECT_NO_THROW(from_json(text));
  for (std::size_t length = 0; length < text.size(); length += 3)
    EXPECT_THROW(from_json(text.substr(0, length)), std::exception);
  const auto with = [&](std::string from, std::string to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return other;
  };
  EXPECT_THROW(from_json(with("\"version\":1", "\"version\":2")), ConfigError);
  EXPECT_THROW(from_json(with("[1,-1,-1]", "[0,-1,-1]")), ConfigError);
  EXPECT_THROW(from_json(with("[1,-1,-1]", "[1,-1]")), ConfigError);
  EXPECT_THROW(from_json(with("\"column\":[0,", "\"column\":[5,")), ConfigError);
  EXPECT_THROW(from_json(with("identity", "cubic")), ConfigError);
  EXPECT_THROW(from_json("[]"), ConfigError);
}

}  // namespace
}  // namespace tutti::learn::tree
