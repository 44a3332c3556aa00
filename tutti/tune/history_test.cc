#include "tutti/tune/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tutti::tune {
namespace {

using testing::ElementsAre;

std::int64_t complete(History& history, std::vector<double> values,
                      std::vector<double> constraints = {}) {
  const std::int64_t number = history.add({});
  history.details(number).constraints = std::move(constraints);
  history.finish(number, TrialState::kComplete, std::move(values), 1);
  return number;
}

std::vector<std::string> names_of(const Space& space) {
  std::vector<std::string> names;
  for (const Parameter& parameter : space) names.push_back(parameter.name);
  return names;
}

TEST(History, BestTrialIsCompleteAndFeasible) {
  History history;
  EXPECT_EQ(history.best(), nullptr);
  complete(history, {3});
  complete(history, {1}, {0.5});
  complete(history, {2}, {-0.5});
  history.finish(history.add({}), TrialState::kPruned, {0}, 1);
  ASSERT_NE(history.best(), nullptr);
  EXPECT_EQ(history.best()->number, 2);
}

TEST(History, MaximizedValuesAreNegativeLosses) {
  History history({Direction::kMaximize});
  complete(history, {3});
  complete(history, {5});
  EXPECT_EQ(history.best()->number, 1);
  EXPECT_EQ(history.loss(history.trial(1)), -5);
}

TEST(History, ParetoFrontHasTheTrialsThatNoOtherOneDominates) {
  History history({Direction::kMinimize, Direction::kMaximize});
  complete(history, {1, 1});
  complete(history, {2, 2});
  complete(history, {2, 1});
  complete(history, {3, 3}, {1});
  EXPECT_THAT(history.pareto_front(), ElementsAre(0, 1));
}

TEST(History, ColumnsHaveOneValuePerTrial) {
  History history;
  const Distribution real = Distribution::real(0, 1), integer = Distribution::integer(1, 5);
  history.add({});
  history.set_parameter(0, "a", real, 0.5);
  history.add({});
  history.set_parameter(1, "b", integer, 3);
  history.set_parameter(1, "a", real, 0.25);
  history.finish(0, TrialState::kComplete, {1}, 1);
  EXPECT_THAT(history.column("a")->values, ElementsAre(0.5, 0.25));
  EXPECT_TRUE(std::isnan(history.column("b")->values[0]));
  EXPECT_EQ(history.column("c"), nullptr);
  EXPECT_THAT(names_of(union_space(history)), ElementsAre("a")) << "trial 1 runs";
  history.finish(1, TrialState::kPruned, {}, 1);
  EXPECT_THAT(names_of(union_space(history)), ElementsAre("a", "b"));
  EXPECT_THAT(names_of(intersection_space(history)), ElementsAre("a"));
}

TEST(History, ReportsAreOrderedByStep) {
  History history;
  history.add({});
  history.report(0, {5, 0.5});
  history.report(0, {1, 0.1});
  history.report(0, {5, 0.6});
  ASSERT_EQ(history.trial(0).reports.size(), 2u);
  EXPECT_EQ(history.trial(0).reports[0].step, 1);
  EXPECT_EQ(history.trial(0).reports[1].value, 0.6);
}

}  // namespace
}  // namespace tutti::tune
