// Sample weights near the limits of floating-point numbers give the model of moderate weights.
#include <gtest/gtest.h>

#include <cmath>

#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/model/test_data.h"

namespace tutti::learn::tree {
namespace {

class ExtremeWeights : public testing::TestWithParam<int> {
 protected:
  ExtremeWeights()
      : data_(make_data(2000, 4)),
        ones_(data_.labels.size(), 1),
        extreme_(data_.labels.size(), unit_) {}

  const double unit_ = std::ldexp(1.0, GetParam());
  const TestData data_;
  const std::vector<double> ones_, extreme_;
  Threads threads_{1};
};

TEST_P(ExtremeWeights, DoNotChangeForests) {
  for (const int classes : {0, 2, 3}) {
    for (const bool is_exact : {false, true}) {
      ForestOptions options;
      options.classes = classes;
      options.trees = 3;
      options.bootstrap = true;
      options.exact_splits = is_exact;
      options.min_gain = 1;
      options.min_weight_leaf = 4;
      const Model expected = train_forest(data_.matrix(), {data_.labels, ones_}, options, threads_);
      options.min_gain *= unit_;
      options.min_weight_leaf *= unit_;
      expect_same(train_forest(data_.matrix(), {data_.labels, extreme_}, options, threads_),
                  expected);
    }
  }
}

TEST_P(ExtremeWeights, DoNotChangeBoosting) {
  for (const char* objective : {"squared_error", "logistic", "softmax", "poisson", "quantile"}) {
    BoostOptions options;
    options.objective = objective;
    options.classes = 3;
    options.rounds = 5;
    options.l2 = 2;
    options.early_stopping_rounds = 3;
    const auto train = [&](const std::vector<double>& weights) {
      const Targets targets = {data_.labels, weights};
      const ValidationSet validation = {data_.matrix(), targets};
      return train_boosting(data_.matrix(), targets, options, threads_, &validation);
    };
    const Boosted expected = train(ones_);
    options.l2 *= unit_;
    options.min_child_weight *= unit_;
    const Boosted found = train(extreme_);
    expect_same(found.model, expected.model);
    EXPECT_EQ(found.validation_losses, expected.validation_losses) << objective;
  }
}

INSTANTIATE_TEST_SUITE_P(PowersOfTwo, ExtremeWeights, testing::Values(-1000, -400, -67, 100, 1000));

}  // namespace
}  // namespace tutti::learn::tree
