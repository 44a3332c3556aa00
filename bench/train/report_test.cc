#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/train/contest.h"

namespace tutti::bench {
namespace {

using testing::HasSubstr;

TrainOutcome example() {
  TrainOutcome outcome;
  outcome.step_seconds[{224, "tutti"}] = {0.5, 0.4, 0.6, 10};
  outcome.step_seconds[{224, "tutti, 1 rank"}] = {0.49, 0.4, 0.6, 10};
  outcome.step_seconds[{224, "tutti, ranks apart"}] = {0.495, 0.4, 0.6, 20};
  outcome.step_seconds[{224, "tutti, slowest apart"}] = {0.498, 0.4, 0.6, 10};
  outcome.step_seconds[{224, "torch-ddp tuned"}] = {1.5, 1.4, 1.6, 10};
  outcome.notes = {"a note"};
  return outcome;
}

TEST(TrainReport, SpeedRatioAndScaling) {
  const TrainSettings settings;
  double speed = 0, ratio = 0, scaling = 0, efficiency = 0, exchange = 0;
  for (const Row& row : rows_of(settings, example())) {
    if (row.metric == "speed" && row.system == "tutti") speed = row.value;
    if (row.metric == "ratio") ratio = row.value;
    if (row.metric == "efficiency") efficiency = row.value;
    if (row.metric == "exchange_efficiency") exchange = row.value;
    if (row.metric == "scaling") scaling = row.value;
  }
  EXPECT_DOUBLE_EQ(speed, 32);  // 8 images on each of 2 ranks in half a second
  EXPECT_DOUBLE_EQ(ratio, 3);
  EXPECT_DOUBLE_EQ(scaling, 98);
  EXPECT_DOUBLE_EQ(efficiency, 99);
  EXPECT_DOUBLE_EQ(exchange, 99.6);
}

TEST(TrainReport, TableListsSkippedSystems) {
  TrainOutcome outcome = example();
  outcome.failures = {"torch-ddp default at 224:\n    a rank ended with code 1\n"};
  const std::string text = text_of(TrainSettings(), outcome);
  EXPECT_THAT(text, HasSubstr("3.00 x"));
  EXPECT_THAT(text, HasSubstr("98.0 % scaling"));
  EXPECT_THAT(text, HasSubstr("a note"));
  EXPECT_THAT(text, HasSubstr("failed: torch-ddp default"));
}

TEST(TrainSystems, OneRankHasNoScaling) {
  TrainSettings settings;
  settings.ranks = 1;
  settings.baselines.clear();
  ASSERT_EQ(systems_of(settings, 64).size(), 1u);
  EXPECT_EQ(systems_of(settings, 64)[0].name, "tutti");
}

}  // namespace
}  // namespace tutti::bench
