#include "tutti/learn/tree/boosting.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/io/export.h"
#include "tutti/learn/tree/io/model_json.h"
#include "tutti/learn/tree/model/test_data.h"
#include "tutti/learn/tree/objective.h"
#include "tutti/learn/tree/predict/shap.h"

namespace tutti::learn::tree {
namespace {

BoostOptions logistic(int rounds = 20) {
  BoostOptions options;
  options.objective = "logistic";
  options.rounds = rounds;
  return options;
}

double log_loss(const std::vector<double>& raw, const std::vector<double>& labels) {
  double sum = 0;
  for (std::size_t i = 0; i < raw.size(); ++i)
    sum += std::log1p(std::exp(labels[i] > 0.5 ? -raw[i] : raw[i]));
  return sum / static_cast<double>(raw.size());
}

TEST(Boosting, LevelWiseGrowthGivesTheSameTrees) {
  Threads threads(2);
  const TestData data = make_data(140000, 5);
  BoostOptions options = logistic(3);
  options.max_depth = 5;
  options.max_leaves = 0;
  const Model by_levels = train_boosting(data.matrix(), {data.labels, {}}, options, threads).model;
  options.max_leaves = 32;
  expect_same(by_levels, train_boosting(data.matrix(), {data.labels, {}}, options, threads).model);
}

// Compares gradients and hessians with finite differences of the loss.
class Objectives : public testing::TestWithParam<const char*> {};

TEST_P(Objectives, GradientsMatchFiniteDifferences) {
  const auto objective = make_objective(GetParam(), 3, 0.3);
  const auto outputs = static_cast<std::size_t>(objective->outputs());
  std::vector<double> labels, scores, weights;
  for (int i = 0; i < 300; ++i) {
    labels.push_back(outputs == 3 ? i % 3 : i % 2);
    weights.push_back(1 + i % 3);
    for (std::size_t k = 0; k < outputs; ++k)
      scores.push_back(std::sin(i + 0.5 + 7.0 * static_cast<double>(k)) * 3);
  }
  for (int k = 0; k < static_cast<int>(outputs); ++k) {
    std::vector<GradientPair> pairs(300);
    objective->gradients(labels, weights, scores, k, 0, 300, pairs.data());
    for (std::size_t i = 0; i < 300; ++i) {
      std::vector<double> at(scores.begin() + static_cast<std::ptrdiff_t>(i * outputs),
                             scores.begin() + static_cast<std::ptrdiff_t>((i + 1) * outputs));
      const double step = 1e-5;
      at[static_cast<std::size_t>(k)] += step;
      const double above = objective->loss(labels[i], at);
      at[static_cast<std::size_t>(k)] -= 2 * step;
      const double below = objective->loss(labels[i], at);
      ASSERT_NEAR(pairs[i].gradient, weights[i] * (above - below) / (2 * step),
                  3e-5 * weights[i] * (1 + std::abs(above)));
      ASSERT_GE(pairs[i].hessian, 0);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Objectives,
                         testing::Values("squared_error", "logistic", "softmax", "poisson",
                                         "quantile", "absolute_error"));

TEST(Boosting, LearnsClasses) {
  Threads threads(2);
  const TestData train = make_data(20000, 6, 30), test = make_data(5000, 6, 30, 2);
  const Boosted boosted = train_boosting(train.matrix(), {train.labels, {}}, logistic(60), threads);
  const auto raw = predict_raw(boosted.model, test.matrix(), threads);
  EXPECT_GT(accuracy(raw, test.labels, 1), 0.84);
  EXPECT_EQ(boosted.best_round, 60);
}

TEST(Boosting, QuantisedGradientsKeepTheAccuracy) {
  Threads threads(2);
  const TestData train = make_data(20000, 6), test = make_data(10000, 6, 0, 2);
  BoostOptions options = logistic(50);
  const double rounded = log_loss(
      predict_raw(train_boosting(train.matrix(), {train.labels, {}}, options, threads).model,
                  test.matrix(), threads),
      test.labels);
  options.is_exact = true;
  const double exact = log_loss(
      predict_raw(train_boosting(train.matrix(), {train.labels, {}}, options, threads).model,
                  test.matrix(), threads),
      test.labels);
  EXPECT_NEAR(rounded, exact, 0.004);
}

TEST(Boosting, SameModelForAnyNumberOfThreads) {
  Threads one(1), three(3);
  const TestData data = make_data(30000, 9, 20);
  BoostOptions options = logistic(8);
  expect_same(train_boosting(data.matrix(), {data.labels, {}}, options, one).model,
              train_boosting(data.matrix(), {data.labels, {}}, options, three).model);
  options.subsample = 0.5;
  options.columns_per_tree = 0.5;
  options.min_max_depth = 2;
  options.max_depth = 6;
  options.objective = "squared_error";
  expect_same(train_boosting(data.matrix(), {data.labels, {}}, options, one).model,
              train_boosting(data.matrix(), {data.labels, {}}, options, three).model);
}

TEST(Boosting, SeveralClasses) {
  Threads threads(2);
  const TestData data = make_data(6000, 4);
  std::vector<double> labels;
  for (std::size_t i = 0; i < 6000; ++i)
    labels.push_back(data.values[i * 4] > 0.5F ? 2 : data.values[i * 4 + 1] > 0 ? 1 : 0);
  BoostOptions options = logistic(20);
  options.objective = "softmax";
  options.classes = 3;
  const Boosted boosted = train_boosting(data.matrix(), {labels, {}}, options, threads);
  EXPECT_EQ(boosted.model.trees.size(), 60);
  auto raw = predict_raw(boosted.model, data.matrix(), threads);
  apply_link(boosted.model.link, 3, raw);
  int right = 0;
  for (std::size_t i = 0; i < 6000; ++i) {
    const double* p = raw.data() + i * 3;
    ASSERT_NEAR(p[0] + p[1] + p[2], 1, 1e-12);
    right += std::max_element(p, p + 3) - p == static_cast<std::ptrdiff_t>(labels[i]) ? 1 : 0;
  }
  EXPECT_GT(right, 5950);
}

TEST(Boosting, RegressionCountsAndQuantiles) {
  Threads threads(2);
  const TestData data = make_data(8000, 3);
  std::vector<double> labels;
  for (std::size_t i = 0; i < 8000; ++i) labels.push_back(std::floor(std::exp(data.values[i * 3])));
  for (const char* name : {"squared_error", "poisson"}) {
    BoostOptions options = logistic(60);
    options.objective = name;
    const Boosted boosted = train_boosting(data.matrix(), {labels, {}}, options, threads);
    auto raw = predict_raw(boosted.model, data.matrix(), threads);
    apply_link(boosted.model.link, 1, raw);
    double error = 0, spread = 0;
    for (std::size_t i = 0; i < 8000; ++i) {
      error += (raw[i] - labels[i]) * (raw[i] - labels[i]);
      spread += labels[i] * labels[i];
    }
    EXPECT_LT(error, 0.1 * spread) << name;
  }
}

// After a full step, the fraction of rows above each leaf of the last tree is the quantile.
TEST(Boosting, LeavesMoveToQuantiles) {
  Threads threads(2);
  const TestData data = make_data(8000, 3);
  std::vector<double> labels, weights;
  for (std::size_t i = 0; i < 8000; ++i) {
    labels.push_back(1e3 + data.values[3 * i] * (1 + std::sin(static_cast<double>(7 * i))));
    weights.push_back(static_cast<double>(i % 4) / 3);
  }
  for (const double alpha : {0.05, 0.5, 0.9}) {
    BoostOptions options = logistic(3);
    options.objective = "quantile";
    options.alpha = alpha;
    options.learning_rate = 1;
    const Model model = train_boosting(data.matrix(), {labels, weights}, options, threads).model;
    const auto raw = predict_raw(model, data.matrix(), threads);
    const Tree& last = model.trees.back();
    std::vector<double> below(last.nodes.size()), up_to(below), all(below);
    for (std::size_t i = 0; i < 8000; ++i) {
      const std::vector<double> row(data.values.begin() + static_cast<std::ptrdiff_t>(3 * i),
                                    data.values.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
      const auto leaf = static_cast<std::size_t>(last.leaf_of(row));
      all[leaf] += weights[i];
      if (labels[i] < raw[i] - 1e-9) below[leaf] += weights[i];
      if (labels[i] < raw[i] + 1e-9) up_to[leaf] += weights[i];
    }
    ASSERT_GT(last.leaves(), 20);
    for (std::size_t leaf = 0; leaf < all.size(); ++leaf) {
      EXPECT_LE(below[leaf], alpha * all[leaf] + 1e-6);
      EXPECT_GE(up_to[leaf], alpha * all[leaf] - 1e-6);
    }
  }
}

// A few outlier gradients must not make narrow sums lose all others.
TEST(Boosting, OutliersDoNotHideTheRest) {
  Threads threads(2);
  const TestData data = make_data(20000, 2);
  std::vector<double> labels;
  for (std::size_t i = 0; i < 20000; ++i)
    labels.push_back(i == 77 ? 1e9 : data.values[i * 2] > 0 ? 1.0 : 0.0);
  BoostOptions options = logistic(1);
  options.objective = "squared_error";
  options.learning_rate = 1;
  const Boosted boosted = train_boosting(data.matrix(), {labels, {}}, options, threads);
  auto raw = predict_raw(boosted.model, data.matrix(), threads);
  EXPECT_GT(boosted.model.trees[0].leaves(), 2);
}

TEST(Boosting, StopsEarlyOnItsValidationSet) {
  Threads threads(2);
  const TestData train = make_data(400, 5), validation = make_data(400, 5, 0, 2);
  BoostOptions options = logistic(300);
  options.early_stopping_rounds = 5;
  options.learning_rate = 0.3;
  const ValidationSet set = {validation.matrix(), {validation.labels, {}}};
  const Boosted boosted =
      train_boosting(train.matrix(), {train.labels, {}}, options, threads, &set);
  EXPECT_LT(boosted.best_round, 100);
  EXPECT_EQ(boosted.model.trees.size(), static_cast<std::size_t>(boosted.best_round));
  EXPECT_EQ(boosted.validation_losses.size(), static_cast<std::size_t>(boosted.best_round + 5));
  const double loss =
      log_loss(predict_raw(boosted.model, validation.matrix(), threads), validation.labels);
  EXPECT_NEAR(loss, boosted.validation_losses[static_cast<std::size_t>(boosted.best_round - 1)],
              1e-6);
  EXPECT_THROW(train_boosting(train.matrix(), {train.labels, {}}, options, threads), ConfigError);
}

TEST(Boosting, TheCallbackMayStopIt) {
  Threads threads(1);
  const TestData data = make_data(500, 3);
  BoostOptions options = logistic(50);
  options.progress = [](int round, double) { return round < 6; };
  EXPECT_EQ(train_boosting(data.matrix(), {data.labels, {}}, options, threads).model.trees.size(),
            7);
}

TEST(Boosting, FourierLearnersAreTheSameForAnyNumberOfThreads) {
  const TestData data = make_data(4000, 5, 20);
  BoostOptions options;
  options.objective = "logistic";
  options.rounds = 40;
  options.learning_rate = 0.3;
  options.tree_probability = 0;
  options.fourier_components = 20;
  Threads one(1), three(3);
  const Targets targets = {data.labels, {}};
  const ValidationSet set = {data.matrix(), targets};
  const Boosted only = train_boosting(data.matrix(), targets, options, one, &set);
  EXPECT_TRUE(only.model.trees.empty());
  EXPECT_EQ(only.model.fourier_learners.size(), 40U);
  EXPECT_LT(only.validation_losses.back(), 0.8 * only.validation_losses.front());
  EXPECT_GT(accuracy(predict_raw(only.model, data.matrix(), three), data.labels, 1), 0.75);

  options.tree_probability = 0.6;
  options.max_depth = 3;
  const Boosted mixed = train_boosting(data.matrix(), targets, options, one, &set);
  EXPECT_FALSE(mixed.model.trees.empty());
  EXPECT_FALSE(mixed.model.fourier_learners.empty());
  EXPECT_EQ(mixed.model.trees.size() + mixed.model.fourier_learners.size(), 40U);
  EXPECT_LT(mixed.validation_losses.back(), only.validation_losses.back());
  const std::string text = to_json(mixed.model);
  EXPECT_EQ(to_json(train_boosting(data.matrix(), targets, options, three, &set).model), text);
  EXPECT_EQ(predict_raw(from_json(text), data.matrix(), one),
            predict_raw(mixed.model, data.matrix(), three));
  EXPECT_THROW(to_cpp(mixed.model, "f"), ConfigError);
  EXPECT_THROW(shap_values(mixed.model, data.matrix(), one), ConfigError);
}

TEST(Boosting, ZeroWeightEqualsAbsence) {
  Threads threads(2);
  const TestData data = make_data(3000, 3);
  std::vector<double> weights(3000, 1.0);
  for (std::size_t i = 1000; i < 3000; ++i) weights[i] = 0;
  BoostOptions options = logistic(5);
  options.is_exact = true;
  const auto a =
      predict_raw(train_boosting(data.matrix(), {data.labels, weights}, options, threads).model,
                  data.matrix(), threads);
  const auto b = predict_raw(
      train_boosting(data.matrix(0, 1000), {{data.labels.data(), 1000}, {}}, options, threads)
          .model,
      data.matrix(), threads);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5);
}

TEST(Boosting, InvalidInputIsRejected) {
  Threads threads(1);
  const TestData data = make_data(10, 2);
  BoostOptions options = logistic();
  options.objective = "hinge";
  EXPECT_THROW(train_boosting(data.matrix(), {data.labels, {}}, options, threads), ConfigError);
  options = logistic();
  options.subsample = 0;
  EXPECT_THROW(train_boosting(data.matrix(), {data.labels, {}}, options, threads), ConfigError);
  std::vector<double> labels = data.labels;
  labels[0] = 7;
  EXPECT_THROW(train_boosting(data.matrix(), {labels, {}}, logistic(), threads), ConfigError);
}

// Rows of the rare class that are predicted with a probability close to 0 have nearly no hessian. Newton steps from
// there made the loss worse than that of the constant prediction.
struct RareClass {
  int one_of;  // rows
  double learning_rate;
  const char* objective;
};

class BoostingOfRareClasses : public testing::TestWithParam<RareClass> {};

// Rows whose label is 1 if a signal is large. Its last summand is not among the columns of matrix_of().
TestData make_rare(std::uint64_t seed, int one_of) {
  TestData data = make_data(20000, 4, 0, seed);
  for (std::int64_t row = 0; row < data.rows; ++row) {
    const float* x = data.values.data() + row * data.columns;
    const double signal = x[0] + x[1] * x[2] + x[3];
    data.labels[row] = signal > (one_of == 300 ? 5.2 : 3.6) ? 1 : 0;
  }
  return data;
}

Matrix matrix_of(const TestData& data) {
  Matrix matrix = data.matrix();
  matrix.columns = 3;
  return matrix;
}

TEST_P(BoostingOfRareClasses, DoesNotDiverge) {
  const auto& [one_of, learning_rate, objective] = GetParam();
  Threads threads(2);
  const TestData train = make_rare(1, one_of), test = make_rare(2, one_of);
  BoostOptions options;
  options.objective = objective;
  options.classes = 2;
  options.learning_rate = learning_rate;
  const Model model = train_boosting(matrix_of(train), {train.labels, {}}, options, threads).model;
  const std::vector<double> raw = predict_raw(model, matrix_of(test), threads);
  const auto loss_of = make_objective(objective, 2, 0.5);
  const auto outputs = static_cast<std::size_t>(model.outputs);
  double loss = 0, constant = 0;
  for (std::size_t row = 0; row < test.labels.size(); ++row) {
    loss += loss_of->loss(test.labels[row], {raw.data() + row * outputs, outputs});
    constant += loss_of->loss(test.labels[row], model.base);
  }
  EXPECT_LT(loss, constant);
}

INSTANTIATE_TEST_SUITE_P(
    Objectives, BoostingOfRareClasses,
    testing::Values(RareClass{300, 0.1, "logistic"}, RareClass{300, 0.3, "logistic"},
                    RareClass{300, 0.1, "poisson"}, RareClass{300, 0.3, "poisson"},
                    RareClass{300, 0.1, "softmax"},  // doubles its steps
                    RareClass{60, 0.1, "logistic"}, RareClass{60, 0.3, "logistic"},
                    RareClass{60, 0.1, "poisson"}, RareClass{60, 0.3, "poisson"},
                    RareClass{60, 0.1, "softmax"}));

}  // namespace
}  // namespace tutti::learn::tree
