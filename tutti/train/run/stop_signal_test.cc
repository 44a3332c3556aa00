#include "tutti/train/run/stop_signal.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace tutti::train {
namespace {

TEST(StopSignal, TheSecondSignalEndsTheProcess) {
  const StopSignal stop;
  EXPECT_FALSE(stop.stop_requested());
  raise(SIGTERM);
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_EXIT(raise(SIGINT), testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignal, CanEndTheProcessAtOnce) {
  testing::internal::CaptureStderr();
  {
    const StopSignal silent;
    raise(SIGINT);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  const StopSignal stop(true);
  raise(SIGINT);
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_NE(output.find("after this step, with a checkpoint"), std::string::npos) << output;
}

TEST(StopSignal, EndsWithItsScope) {
  {
    const StopSignal stop;
  }
  EXPECT_EXIT(raise(SIGTERM), testing::KilledBySignal(SIGTERM), "");
  const StopSignal again;
  EXPECT_FALSE(again.stop_requested());
}

}  // namespace
}  // namespace tutti::train
