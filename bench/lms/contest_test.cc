#include "bench/lms/contest.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LmsOutcome example() {
  LmsOutcome outcome;
  outcome.size = 64;
  outcome.peak_without = 1000 << 20;
  outcome.seconds_without = 2;
  outcome.minimum_operator = "convolution_backward";
  LmsResult result;
  result.fraction = 0.5;
  result.budget = 500 << 20;
  result.run.seconds = {9, 9, 9, 2.2, 2.2};
  result.predicted_seconds = 2.1;
  result.is_identical = true;
  outcome.results = {result};
  return outcome;
}

TEST(LmsBenchTest, SizesOfCases) {
  const SizedCase& unet = find_sized_case("unet3d");
  EXPECT_EQ(unet.elements(10), 1000);
  EXPECT_NEAR(unet.size_of(1000), 10, 1e-9);
  EXPECT_THAT(unet.network(48, {"batch=1"}), ElementsAre("case", "unet3d", "batch=1", "volume=48"));
  const NetworkArguments gpt2 = find_sized_case("gpt2").network(64, {"layers=2"});
  EXPECT_THAT(gpt2, ElementsAre("gpt2", "layers=2", "sequence=64"));
  EXPECT_THAT(baselines_of(gpt2), ElementsAre("checkpoint", "save_on_cpu"));
  EXPECT_TRUE(baselines_of(unet.network(48, {})).empty());
  EXPECT_TRUE(unet.has_same_network(16, 512));
  EXPECT_FALSE(find_sized_case("climate-segment").has_same_network(383, 384));
  EXPECT_THROW(find_sized_case("nothing"), ConfigError);
}

TEST(LmsBenchTest, StepTimeIgnoresStepsBeforeThePlan) {
  EXPECT_EQ(example().results[0].run.step_seconds(), 2.2);
}

TEST(LmsBenchTest, ReportsTextRowsAndPlot) {
  const LmsSettings settings;
  const std::string text = text_of(settings, example());
  EXPECT_THAT(text, HasSubstr("+10.0 %"));
  EXPECT_THAT(text, HasSubstr("convolution_backward"));
  bool has_step = false;
  for (const Row& row : rows_of(settings, example())) {
    has_step = has_step || (row.system == "tutti" && row.metric == "step" && row.value == 2.2);
  }
  EXPECT_TRUE(has_step);
  EXPECT_THAT(svg_of(settings, example()), HasSubstr("measured"));
}

}  // namespace
}  // namespace tutti::bench
