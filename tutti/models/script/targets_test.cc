#include "tutti/models/script/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::models::script {
namespace {

using testing::HasSubstr;

TEST(Targets, ValuesThatALossCannotTake) {
  for (float good : {0.f, 1.f, 2.f}) EXPECT_EQ(target_fault(Loss::kCrossEntropy, 3, good), "");
  EXPECT_THAT(target_fault(Loss::kCrossEntropy, 3, 0.73f), HasSubstr("set `loss` to mean_squared"));
  EXPECT_THAT(target_fault(Loss::kCrossEntropy, 3, 3), HasSubstr("from 0 to 2"));
  EXPECT_THAT(target_fault(Loss::kCrossEntropy, 3, -1), HasSubstr("from 0 to 2"));
  for (float good : {0.f, 0.1f, 1.f})
    EXPECT_EQ(target_fault(Loss::kBinaryCrossEntropy, 0, good), "");
  for (float bad : {-1.f, 2.f}) EXPECT_NE(target_fault(Loss::kBinaryCrossEntropy, 0, bad), "");
  EXPECT_EQ(target_fault(Loss::kMeanSquared, 0, -7.5f), "");
}

TEST(Targets, ShapeOfTheOutput) {
  EXPECT_EQ(expected_target(Loss::kCrossEntropy, {3}).target, Shape{});
  EXPECT_EQ(expected_target(Loss::kCrossEntropy, {3}).classes, 3);
  EXPECT_EQ(expected_target(Loss::kCrossEntropy, {2, 16, 24}).target, (Shape{16, 24}));
  EXPECT_EQ(expected_target(Loss::kMeanSquared, {2, 4}).target, (Shape{2, 4}));
  EXPECT_THROW(expected_target(Loss::kCrossEntropy, {}), ConfigError);
  EXPECT_THROW(expected_target(Loss::kCrossEntropy, {1}), ConfigError);
}

}  // namespace
}  // namespace tutti::models::script
