#include "tutti/launch/job/root_cause.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace tutti::launch {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

TEST(RootCause, IsTheRankThatFailedFirst) {
  EXPECT_EQ(root_cause({{.rank = 0, .code = 3, .when_ns = 20},
                        {.rank = 1, .code = 7, .when_ns = 10},
                        {.rank = 2, .signal = SIGABRT, .when_ns = 30}})
                .rank,
            1);
}

TEST(RootCause, IsACrashRatherThanTheReactionOfAPeerThatWasReportedEarlier) {
  EXPECT_EQ(root_cause({{.rank = 0, .code = 3, .when_ns = 0},
                        {.rank = 1, .signal = SIGABRT, .when_ns = 1},
                        {.rank = 2, .signal = SIGKILL, .when_ns = 5 * kMillisecond}})
                .rank,
            2);
  EXPECT_EQ(root_cause({{.rank = 0, .code = 3, .when_ns = 0},
                        {.rank = 1, .is_lost = true, .when_ns = 5 * kMillisecond}})
                .rank,
            1);
}

TEST(RootCause, IsNotACrashLongAfterTheFirstFailure) {
  EXPECT_EQ(root_cause({{.rank = 0, .code = 3, .when_ns = 0},
                        {.rank = 2, .signal = SIGKILL, .when_ns = 900 * kMillisecond}})
                .rank,
            0);
}

TEST(RootCause, IsTheFirstOfSeveralCrashes) {
  EXPECT_EQ(root_cause({{.rank = 0, .signal = SIGSEGV, .when_ns = 2},
                        {.rank = 1, .signal = SIGBUS, .when_ns = 1},
                        {.rank = 2, .code = 1, .when_ns = 0}})
                .rank,
            1);
}

}  // namespace
}  // namespace tutti::launch
