#include "tutti/comm/internal/rebinder.h"

#include <gtest/gtest.h>

namespace tutti::comm {
namespace {

const char* const kThen =
    "cpu  300 0 300 900 0 0 0 0 0 0\n"
    "cpu0 100 0 100 300 0 0 0 0 0 0\n"
    "cpu1 100 0 100 300 0 0 0 0 0 0\n"
    "cpu12 100 0 100 300 0 0 0 0 0 0\n"
    "intr 12345\n";
const char* const kNow =
    "cpu  0 0 0 0\n"
    "cpu0 190 0 100 310 0 0 0 0 0 0\n"
    "cpu1 120 0 100 370 10 0 0 0 0 0\n"
    "cpu12 110 0 100 380 0 5 5 0 0 0\n";

TEST(CpuTimes, AreReadByProcessor) {
  const CpuTimes times = parse_cpu_times(kThen);
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times.at(12).busy, 200);
  EXPECT_EQ(times.at(12).total, 500);
  EXPECT_TRUE(parse_cpu_times("").empty());
  EXPECT_TRUE(parse_cpu_times("cpux 1 2\nnonsense").empty());
}

TEST(LeastBusy, IsFoundAmongTheAllowed) {
  const CpuTimes then = parse_cpu_times(kThen), now = parse_cpu_times(kNow);
  double busy = -1;
  EXPECT_EQ(least_busy(
                then, now, [](int) { return true; }, &busy),
            1);
  EXPECT_DOUBLE_EQ(busy, 0.2);
  EXPECT_EQ(least_busy(
                then, now, [](int cpu) { return cpu == 0; }, &busy),
            0);
  EXPECT_DOUBLE_EQ(busy, 0.9);
  EXPECT_FALSE(least_busy(
      then, now, [](int) { return false; }, &busy));
  EXPECT_FALSE(least_busy(
      {}, now, [](int) { return true; }, &busy));
}

Summary summary_of(int last_rank, double lateness) {
  Summary summary;
  summary.operations = 10;
  summary.mean = 1e-3;
  summary.last_rank = last_rank;
  summary.lateness = lateness;
  return summary;
}

TEST(Rebinder, ActsAfterThreeChecksInARow) {
  Rebinder rebinder(4);
  EXPECT_FALSE(rebinder.look(summary_of(4, 1e-3)));
  EXPECT_FALSE(rebinder.look(summary_of(4, 1e-3)));
  EXPECT_FALSE(rebinder.look(summary_of(3, 1e-3))) << "another one: the row is broken";
  EXPECT_FALSE(rebinder.look(summary_of(4, 1e-3)));
  EXPECT_FALSE(rebinder.look(summary_of(4, 1e-3)));
  EXPECT_TRUE(rebinder.look(summary_of(4, 1e-3)));
  EXPECT_FALSE(rebinder.look(summary_of(4, 1e-3))) << "it gets three checks to show that it helped";
}

TEST(Rebinder, ALittleLateIsNotLate) {
  Rebinder rebinder(0);
  for (int check = 0; check < 9; ++check) EXPECT_FALSE(rebinder.look(summary_of(0, 1e-6)));
  for (int check = 0; check < 9; ++check) EXPECT_FALSE(rebinder.look(summary_of(1, 1e-2)));
}

}  // namespace
}  // namespace tutti::comm
