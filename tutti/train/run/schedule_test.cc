#include "tutti/train/optim/schedule.h"

#include <gtest/gtest.h>

#include "tutti/core/error.h"
#include "tutti/train/run/options.h"

namespace tutti::train {
namespace {

Schedule make(const std::vector<std::pair<std::string, std::string>>& settings, int ranks = 1) {
  Options options(train_options());
  for (const auto& [name, value] : settings) options.set(name, value);
  return make_schedule(options, ranks, 100);
}

TEST(Schedule, RisesThenFollowsItsShape) {
  const Schedule cosine = make({{"learning_rate", "1"}, {"warmup", "0.1"}, {"schedule", "cosine"}});
  EXPECT_NEAR(cosine.rate(0), 1.0 / 11, 1e-12);
  EXPECT_NEAR(cosine.rate(9), 10.0 / 11, 1e-12);
  EXPECT_DOUBLE_EQ(cosine.rate(10), 1);
  EXPECT_NEAR(cosine.rate(55), 0.5, 1e-12);
  EXPECT_NEAR(cosine.rate(1000), 0, 1e-12);
}

TEST(Schedule, PolynomialEndsAtTheGivenStep) {
  const Schedule line =
      make({{"learning_rate", "2"}, {"schedule", "polynomial"}, {"final_lr_ratio", "0.1"}});
  EXPECT_DOUBLE_EQ(line.rate(0), 2);
  EXPECT_DOUBLE_EQ(line.rate(50), 1.1);
  EXPECT_DOUBLE_EQ(line.rate(100), 0.2);
}

TEST(Schedule, Steps) {
  const Schedule steps =
      make({{"learning_rate", "1"}, {"schedule", "step"}, {"lr_milestones", "0.9,0.5"}});
  EXPECT_DOUBLE_EQ(steps.rate(49), 1);
  EXPECT_DOUBLE_EQ(steps.rate(50), 0.1);
  EXPECT_DOUBLE_EQ(steps.rate(95), 0.01);
  const Schedule uneven = make({{"learning_rate", "1"},
                                {"schedule", "step"},
                                {"lr_milestones", "0.25,0.5"},
                                {"lr_gamma", "0.25,0.5"}});
  EXPECT_DOUBLE_EQ(uneven.rate(24), 1);
  EXPECT_DOUBLE_EQ(uneven.rate(25), 0.25);
  EXPECT_DOUBLE_EQ(uneven.rate(50), 0.125);
  EXPECT_THROW(make({{"lr_milestones", "0.5,0.6,0.7"}, {"lr_gamma", "0.1,0.2"}}), ConfigError);
  EXPECT_THROW(make({{"lr_gamma", "2"}}), ConfigError);
  EXPECT_THROW(make({{"lr_milestones", "0.5,x"}}), ConfigError);
  EXPECT_THROW(make({{"lr_milestones", "30"}}), ConfigError);
}

TEST(Schedule, ScalesWithRanksFromTheRateOfOne) {
  const Schedule linear =
      make({{"learning_rate", "0.1"}, {"lr_scaling", "linear"}, {"warmup", "0.05"}}, 8);
  EXPECT_GT(linear.rate(0), 0.1);
  EXPECT_DOUBLE_EQ(linear.rate(5), 0.8);
  EXPECT_DOUBLE_EQ(make({{"learning_rate", "0.1"}, {"lr_scaling", "sqrt"}}, 4).rate(0), 0.2);
}

// 0.1 is the rate for 64 samples: 16 ranks with 2 times 8 have 256.
TEST(Schedule, ScalesWithTheSamplesThatTheRateIsFor) {
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"learning_rate", "0.1"}, {"lr_scaling", "linear"}, {"base_batch", "64"},
      {"batch", "8"},           {"accumulate", "2"},      {"warmup", "0.1"}};
  EXPECT_DOUBLE_EQ(make(settings, 16).rate(10), 0.4);
  EXPECT_NEAR(make(settings, 16).rate(0), 0.1 + 0.3 / 11, 1e-12);
  EXPECT_DOUBLE_EQ(make(settings, 1).rate(10), 0.025);  // less for a smaller batch
}

}  // namespace
}  // namespace tutti::train
