#include "tutti/comm/transport/shm/flag.h"

#include <gtest/gtest.h>

#include "tutti/comm/observe/flight_record.h"
#include "tutti/comm/transport/shm/host_control_block.h"
#include "tutti/core/clock.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kAnyYieldIsLong = -1;
constexpr std::int64_t kSecond = 1'000'000'000;

TEST(SpinBackoff, SleepsAfterALongYieldToAnotherProcess) {
  SpinBackoff backoff(kAnyYieldIsLong);
  EXPECT_TRUE(backoff.yield(0));
  EXPECT_TRUE(backoff.prefers_sleep(now_ns()));
  EXPECT_FALSE(backoff.yield(0));
}

TEST(SpinBackoff, StaysAwakeIfARankOfThisJobUsedTheCore) {
  bool is_ours = true;
  SpinBackoff backoff(kAnyYieldIsLong, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_LE(begin, end);
    return is_ours;
  });
  EXPECT_TRUE(backoff.yield(0));
  EXPECT_FALSE(backoff.prefers_sleep(now_ns()));
  is_ours = false;
  EXPECT_TRUE(backoff.yield(0));
  EXPECT_TRUE(backoff.prefers_sleep(now_ns()));
}

TEST(SpinBackoff, DoesNotAskForAnExplanationAfterAShortYield) {
  SpinBackoff backoff(1000 * kSecond, [](std::int64_t, std::int64_t) -> bool {
    ADD_FAILURE() << "asked";
    return false;
  });
  EXPECT_TRUE(backoff.yield(0));
  EXPECT_FALSE(backoff.prefers_sleep(now_ns()));
}

TEST(SpinBackoff, SleepsLongerWhileOtherProcessesRun) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  SpinBackoff backoff;
  std::int64_t now = now_ns();
  const auto while_ms = [&] {  // and runs to its end
    const std::int64_t begin = now;
    for (backoff.note_interference(now); backoff.prefers_sleep(now);) now += kMillisecond;
    return (now - begin) / kMillisecond;
  };
  for (const int expected : {5, 10, 20, 40, 80, 100, 100}) EXPECT_EQ(while_ms(), expected);
  now += kSecond;
  EXPECT_EQ(while_ms(), 5);  // the previous process has exited
}

TEST(WaitPolicy, IsCrowdedWhereRanksShareCores) {
  EXPECT_FALSE(WaitPolicy::for_ranks(2, 2).is_crowded);
  EXPECT_TRUE(WaitPolicy::for_ranks(3, 2).is_crowded);
  EXPECT_EQ(WaitPolicy::for_ranks(3, 2).spin_ns, 0);
}

// A member that left or entered the library at `moved`, the latter after an absence.
class Away : public ::testing::Test {
 protected:
  Away() : control_block_(SharedMemory::create(HostControlBlock::bytes_for(1)), 1) {}
  void outside_since(std::int64_t ticks) {
    control_block_.block(0).is_inside = 0;
    control_block_.block(0).moved_ticks = ticks;
  }
  void back_at(std::int64_t ticks, std::int64_t away) {
    control_block_.block(0).is_inside = 1;
    control_block_.block(0).moved_ticks = ticks;
    control_block_.block(0).away_ticks = away;
  }
  bool was_away(std::int64_t begin_ticks, std::int64_t end_ticks) {
    return control_block_.was_away(0, monotonic_ns(begin_ticks), monotonic_ns(end_ticks));
  }
  HostControlBlock control_block_;
  const std::int64_t now_ = ticks();
};

TEST_F(Away, CountsRanksThatAreStillOutside) {
  outside_since(now_ - 9'000'000);
  EXPECT_TRUE(was_away(now_ - 6'000'000, now_));
  outside_since(now_ - 1'000'000);
  EXPECT_FALSE(was_away(now_ - 6'000'000, now_));
}

TEST_F(Away, CountsRanksThatReturnedMeanwhile) {
  back_at(now_ - 1'000'000, 8'000'000);
  EXPECT_TRUE(was_away(now_ - 6'000'000, now_));
  back_at(now_ - 5'000'000, 8'000'000);
  EXPECT_FALSE(was_away(now_ - 6'000'000, now_));
}

TEST_F(Away, DoesNotCountRanksBetweenTwoOperations) {
  back_at(now_ - 1'000'000, 1'000);
  EXPECT_FALSE(was_away(now_ - 6'000'000, now_));
}

TEST_F(Away, DoesNotCountRanksThatAreInsideForLong) {
  back_at(now_ - 9'000'000, 8'000'000);
  EXPECT_FALSE(was_away(now_ - 6'000'000, now_));
}

}  // namespace
}  // namespace tutti::comm
