#include "bench/hybrid/contest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/hybrid/quota.h"

namespace tutti::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HybridTurns, TheTargetIsReachedByTheMeanOfTheWindow) {
  HybridSettings settings;
  settings.target = 0.5;
  settings.window = 32;
  const std::map<std::string, std::vector<double>> metrics = {
      {"step", {1, 3, 5, 7}}, {"loss", {0.9, 0.3, 0.8, 0.1}}, {"seconds", {1, 2, 3, 3.5}}};
  const HybridTurn turn = read_turn(metrics, 16, settings);
  EXPECT_DOUBLE_EQ(turn.seconds_to_target, 3.5);  // the single low value at 2 s does not count
  EXPECT_DOUBLE_EQ(turn.updates_per_second, 2);
  EXPECT_DOUBLE_EQ(turn.samples_per_second, 32);
  EXPECT_NEAR(turn.last_loss, 0.45, 1e-12);
  EXPECT_LT(read_turn(metrics, 16 * 4, settings).seconds_to_target, 3);  // rows are full windows
  EXPECT_LT(read_turn({}, 16, settings).seconds_to_target, 0);
}

TEST(HybridTurns, ReportsTheMedianRun) {
  const HybridTurn turn = middle({{1, 0, -1, 0}, {2, 0, 9, 0}, {3, 0, 5, 0, "    it fell\n"}});
  EXPECT_DOUBLE_EQ(turn.seconds_to_target, 9);
  EXPECT_DOUBLE_EQ(turn.updates_per_second, 2);
  EXPECT_DOUBLE_EQ(turn.fastest, 5);
  EXPECT_LT(turn.slowest, 0);
  EXPECT_FALSE(turn.trouble.empty());
  EXPECT_LT(middle({{1, 0, -1, 0}, {2, 0, 9, 0}, {3, 0, -1, 0}}).seconds_to_target, 0);
}

TEST(HybridReport, ListsTheFastestStrategyPerCase) {
  HybridOutcome outcome;
  outcome[{"sync", false}] = {10, 800, 5, 0.4};
  outcome[{"hybrid", false}] = {9, 700, 6, 0.4};
  outcome[{"sync", true}] = {2, 160, -1, 0.6};
  outcome[{"hybrid", true}] = {6, 500, 9, 0.4, ""};
  outcome[{"async", true}] = {0, 0, -1, 0, "    a rank died\n"};
  const HybridSettings settings;
  const std::string text = text_of(settings, outcome);
  EXPECT_THAT(text, HasSubstr("With equal ranks: sync is the first."));
  EXPECT_THAT(text, HasSubstr("With a slow rank: hybrid is the first."));
  EXPECT_THAT(text, HasSubstr("not reached"));
  EXPECT_THAT(text, HasSubstr("a rank died"));
  int times = 0;
  for (const Row& row : rows_of(settings, outcome)) times += row.metric == "time_to_loss";
  EXPECT_EQ(times, 3);
}

TEST(CpuQuota, AWholeCpuNeedsNoWrapper) {
  const CpuQuota all("unlimited", 1), half("tutti-quota-test", 0.5);
  EXPECT_EQ(all.wrapped({"program", "x"}), (std::vector<std::string>{"program", "x"}));
  const std::vector<std::string> command = half.wrapped({"program", "x"});
  EXPECT_EQ(command.front(), "/bin/sh");
  EXPECT_EQ(command.back(), "x");
}

}  // namespace
}  // namespace tutti::bench
