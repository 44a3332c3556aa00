#include "tutti/tune/importance/ped_anova.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/random.h"
#include "tutti/core/test_error.h"

namespace tutti::tune {
namespace {

using testing::HasSubstr;

// Trials of x, y and kind whose value is 100 (x - 0.3)^2, so only x matters.
History trials_of_x(std::size_t count,
                    const std::vector<Direction>& directions = {Direction::kMinimize}) {
  History history(directions);
  Random random(1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t number = history.add({});
    const double x = random.uniform();
    history.set_parameter(number, "y", Distribution::real(0, 1), random.uniform());
    history.set_parameter(number, "x", Distribution::real(0, 1), x);
    history.set_parameter(number, "kind", Distribution::categorical({"1", "2"}),
                          static_cast<double>(random.below(2)));
    history.set_parameter(number, "single", Distribution::integer(3, 3), 3);
    const double value = 100 * (x - 0.3) * (x - 0.3);
    history.finish(number, TrialState::kComplete,
                   {directions[0] == Direction::kMinimize ? value : -value}, 1);
  }
  return history;
}

double sum_of(const std::vector<Importance>& importances) {
  double sum = 0;
  for (const Importance& one : importances) sum += one.value;
  return sum;
}

TEST(PedAnova, FindsTheParameterThatMatters) {
  for (const Direction direction : {Direction::kMinimize, Direction::kMaximize}) {
    const auto importances = parameter_importances(trials_of_x(200, {direction}));
    ASSERT_EQ(importances.size(), 4U);
    EXPECT_EQ(importances.front().name, "x");
    EXPECT_GT(importances.front().value, 0.7);
    EXPECT_NEAR(sum_of(importances), 1, 1e-6);
    EXPECT_EQ(importances.back().name, "single");
    EXPECT_EQ(importances.back().value, 0);
  }
}

TEST(PedAnova, FindsAChoiceThatMatters) {
  History history;
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t number = history.add({});
    const auto kind = static_cast<double>(random.below(4));
    history.set_parameter(number, "kind", Distribution::categorical({"1", "2", "3", "4"}), kind);
    history.set_parameter(number, "x", Distribution::real(1e-4, 1, true),
                          1e-4 + 0.9 * random.uniform());
    history.finish(number, TrialState::kComplete, {kind == 2 ? 0.0 : 1.0}, 1);
  }
  EXPECT_EQ(parameter_importances(history).front().name, "kind");
}

TEST(PedAnova, UsesGivenLossesAndParameters) {
  const History history = trials_of_x(100);
  ImportanceOptions options{.parameters = {"x", "y"}};
  for (const Trial& trial : history.trials()) options.losses.push_back(trial.find("y")->value);
  const auto importances = parameter_importances(history, options);
  ASSERT_EQ(importances.size(), 2U);
  EXPECT_EQ(importances.front().name, "y");
  options.parameters = {"z"};
  EXPECT_THAT(error_of([&] { parameter_importances(history, options); }), HasSubstr("DDL-10-08"));
}

TEST(PedAnova, IsZeroForFewTrials) {
  for (const std::size_t count : {0U, 1U, 2U}) {
    EXPECT_EQ(sum_of(parameter_importances(trials_of_x(count))), 0);
  }
}

TEST(PedAnova, IgnoresParametersThatSomeTrialsLack) {
  History history = trials_of_x(30);
  const std::int64_t number = history.add({});
  history.set_parameter(number, "x", Distribution::real(0, 1), 0.3);
  history.finish(number, TrialState::kComplete, {0}, 1);
  const auto importances = parameter_importances(history);
  ASSERT_EQ(importances.size(), 1U);
  EXPECT_EQ(importances.front().name, "x");
}

}  // namespace
}  // namespace tutti::tune
