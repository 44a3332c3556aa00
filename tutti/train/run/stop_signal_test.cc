#include "tutti/train/run/stop_signal.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace tutti::train {
namespace {

TEST(StopSignal, RemembersTheFirstAndDiesOfTheSecond) {
  const StopSignal stop;
  EXPECT_FALSE(stop.is_asked());
  raise(SIGTERM);
  EXPECT_TRUE(stop.is_asked());
  EXPECT_EXIT(raise(SIGINT), testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignal, IsOverWithItsLife) {
  { const StopSignal stop; }
  EXPECT_EXIT(raise(SIGTERM), testing::KilledBySignal(SIGTERM), "");
  const StopSignal again;
  EXPECT_FALSE(again.is_asked());
}

}  // namespace
}  // namespace tutti::train
