#include "tutti/train/run/progress.h"

#include <gmock/gmock.h>

namespace tutti::train {
namespace {

using testing::HasSubstr;

TEST(Progress, ShowsProgress) {
  ProgressState state{320, 1024, 1.25, 4, 0.18321, 1210, 153e9, 1275e9, 0.008, 125};
  EXPECT_EQ(progress_text(state),
            "epoch 1.25/4  step 320/1024  loss 0.1832  1210 samples/s  153 GFLOP/s (12 % of peak)  "
            "comm 0.8 %  2:05 left");
  state.peak_flops = 80e9;
  EXPECT_THAT(progress_text(state), HasSubstr("  153 GFLOP/s (1.9 times a matrix product)  comm"));
  const Metrics metrics = {{"a", 0.12345}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}};
  EXPECT_EQ(evaluation_text("epoch 3", metrics, true),
            "epoch 3:  a 0.1235  b 2  c 3  d 4  (best so far)");
  EXPECT_EQ(evaluation_text("test", {}, false), "test:");
  EXPECT_EQ(evaluation_progress_text("epoch 3", 40, 400, 83),
            "epoch 3:  40 of 400 samples evaluated, 12:27 left");
  RunPlan plan{7504835, 4000, 100, 2, 4.188e12, 200e9};
  EXPECT_EQ(plan_text(plan),
            "7504835 parameters, 4188 GFLOP for a sample; 4000 samples, 100 steps of 2\n");
  plan.steps = 1;
  EXPECT_THAT(plan_text(plan), HasSubstr("4000 samples, 1 step of 2\n"));
  plan.flops_per_sample = 11.38e12;
  EXPECT_THAT(plan_text(plan), HasSubstr(" 11380 GFLOP for a sample"));
  plan.flops_per_sample = 4.188e12;
  plan.steps = 120000;
  EXPECT_THAT(plan_text(plan),
              HasSubstr("200 GFLOP/s, this takes 58 days, a step 41.9 s. Lower `epochs`"));
  EXPECT_EQ(duration_text(7), "0:07");
  EXPECT_EQ(duration_text(3 * 3600 + 245), "3:04:05");
  EXPECT_EQ(duration_text(-1), "0:00");
  EXPECT_EQ(duration_text(50 * 3600), "50:00:00");
  EXPECT_EQ(duration_text(119.3 * 86400), "119 days");
  EXPECT_EQ(duration_text(1250 * 86400), "3.4 years");
}

}  // namespace
}  // namespace tutti::train
