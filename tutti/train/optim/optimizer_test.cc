#include "tutti/train/optim/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tutti::train {
namespace {

UpdateSettings rule(const std::string& name) {
  UpdateSettings settings;
  settings.rule =
      static_cast<UpdateRule>(std::ranges::find(kOptimizerNames, name) - kOptimizerNames.begin());
  return settings;
}

class EveryRule : public testing::TestWithParam<const char*> {};

// f(w) = sum a_i (w_i - 1)^2 / 2 with very different a_i.
TEST_P(EveryRule, FindsTheMinimumOfABowl) {
  UpdateSettings settings = rule(GetParam());
  settings.trust_coefficient = 0.5;
  Optimizer optimizer(settings, {{"a", 0, 3}, {"b", 3, 2, false}});
  std::vector<float> weights = {2, 3, -1, 4, 0.5}, gradients(5);
  const std::vector<float> curvature = {1, 2, 0.5, 1, 3};
  const int steps = 2000;
  for (int step = 1; step <= steps; ++step) {
    for (std::size_t i = 0; i < 5; ++i) gradients[i] = curvature[i] * (weights[i] - 1);
    optimizer.begin(step, 0.05 * (1 - (step - 1.0) / steps));
    optimizer.update(weights, gradients, 0, 2);
  }
  for (float weight : weights) EXPECT_NEAR(weight, 1, 0.02);
}

// Updating the tensors one by one is the same as updating all.
TEST_P(EveryRule, TensorsAreIndependent) {
  const std::vector<Segment> segments = {{"a", 0, 3}, {"b", 3, 2}};
  Optimizer whole(rule(GetParam()), segments), parts(rule(GetParam()), segments);
  std::vector<float> a = {1, 2, 3, 4, 5}, b = a;
  const std::vector<float> gradients = {0.1f, -0.2f, 0.3f, 0.4f, -0.5f};
  for (int step = 1; step <= 3; ++step) {
    whole.begin(step, 0.1);
    whole.update(a, gradients, 0, 2);
    parts.begin(step, 0.1);
    parts.update(b, gradients, 1, 2);
    parts.update(b, gradients, 0, 1);
  }
  EXPECT_EQ(a, b);
  EXPECT_EQ(whole.state(), parts.state());
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule,
                         testing::Values("sgd", "adam", "adamw", "rmsprop", "lars", "larc",
                                         "larc_scale", "lamb"),
                         [](const auto& parameter) { return std::string(parameter.param); });

class ElementwiseRule : public testing::TestWithParam<const char*> {};

// Split anywhere, also inside tensors and across them.
TEST_P(ElementwiseRule, SlicesAddUpToTheWhole) {
  UpdateSettings settings = rule(GetParam());
  settings.weight_decay = 0.1;
  const std::vector<Segment> segments = {{"a", 0, 3000}, {"b", 3000, 1, false}, {"c", 3001, 2000}};
  Optimizer whole(settings, segments), slices(settings, segments);
  ASSERT_TRUE(whole.is_elementwise());
  std::vector<float> a(5001), gradients(5001);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = std::sin(float(i));
    gradients[i] = std::cos(float(3 * i));
  }
  std::vector<float> b = a;
  for (int step = 1; step <= 2; ++step) {
    whole.begin(step, 0.1);
    whole.update(a, gradients, 0, 3, 0.5f);
    slices.begin(step, 0.1);
    std::size_t begin = 0;
    for (std::size_t end : {0, 1, 1500, 3000, 3001, 3002, 5001}) {
      slices.update_slice(b, std::span(gradients).subspan(begin, end - begin),
                          static_cast<std::int64_t>(begin), 0.5f);
      begin = end;
    }
  }
  EXPECT_EQ(a, b);
  EXPECT_EQ(whole.state(), slices.state());
}

INSTANTIATE_TEST_SUITE_P(Rules, ElementwiseRule, testing::Values("sgd", "adam", "adamw", "rmsprop"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(Optimizer, LayersAreNotCutWhereNormsCount) {
  for (const char* name : {"lars", "larc", "larc_scale", "lamb"})
    EXPECT_FALSE(Optimizer(rule(name), {{"w", 0, 1}}).is_elementwise()) << name;
}

TEST(Optimizer, FirstStepsByHand) {
  std::vector<float> w = {2};
  Optimizer sgd(rule("sgd"), {{"w", 0, 1}});
  sgd.begin(1, 0.1);
  sgd.update(w, std::vector<float>{3}, 0, 1, 0.5f);  // v = 1.5
  EXPECT_FLOAT_EQ(w[0], 2 - 0.15f);
  sgd.begin(2, 0.01);
  sgd.update(w, std::vector<float>{1}, 0, 1);  // v = 0.9 * 1.5 + 1
  EXPECT_FLOAT_EQ(w[0], 1.85f - 0.01f * 2.35f);

  w = {2};
  Optimizer adam(rule("adam"), {{"w", 0, 1}});
  adam.begin(1, 0.1);
  adam.update(w, std::vector<float>{-5}, 0, 1);  // the first step of Adam has length `rate`
  EXPECT_NEAR(w[0], 2.1, 1e-6);
}

TEST(Optimizer, WeightDecaySparesBiases) {
  for (const char* name : {"sgd", "adamw", "lamb"}) {
    UpdateSettings settings = rule(name);
    settings.weight_decay = 0.5;
    Optimizer optimizer(settings, {{"w", 0, 1, true}, {"b", 1, 1, false}});
    std::vector<float> w = {1, 1};
    optimizer.begin(1, 0.1);
    optimizer.update(w, std::vector<float>{0, 0}, 0, 2);
    EXPECT_LT(w[0], 1) << name;
    EXPECT_EQ(w[1], 1) << name;
  }
}

TEST(Optimizer, LayerWiseStepsFollowTheNorms) {
  // ||w|| = 5, ||g|| = 0.5: local rate 0.002 * 10 = 0.02.
  const std::vector<float> start = {3, 4}, gradient = {0.3f, 0.4f};
  std::vector<float> w = start;
  Optimizer lars(rule("lars"), {{"w", 0, 2}});
  lars.begin(1, 1);
  lars.update(w, gradient, 0, 1);
  EXPECT_NEAR(w[0], 3 - 0.02 * 0.3, 1e-6);
  w = {0, 0};  // zero norm: a plain step
  lars.begin(2, 1);
  lars.state()[0] = {0, 0};
  lars.update(w, gradient, 0, 1);
  EXPECT_NEAR(w[0], -0.3, 1e-6);
}

}  // namespace
}  // namespace tutti::train
