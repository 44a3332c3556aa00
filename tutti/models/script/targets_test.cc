#include "tutti/models/script/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::models::script {
namespace {

using testing::HasSubstr;

TEST(Targets, ValuesThatALossCannotTake) {
  for (float good : {0.f, 1.f, 2.f}) EXPECT_EQ(target_fault("cross_entropy", 3, good), "");
  EXPECT_THAT(target_fault("cross_entropy", 3, 0.73f), HasSubstr("set `loss` to mean_squared"));
  EXPECT_THAT(target_fault("cross_entropy", 3, 3), HasSubstr("from 0 to 2"));
  EXPECT_THAT(target_fault("cross_entropy", 3, -1), HasSubstr("from 0 to 2"));
  for (float good : {0.f, 0.1f, 1.f}) EXPECT_EQ(target_fault("binary_cross_entropy", 0, good), "");
  for (float bad : {-1.f, 2.f}) EXPECT_NE(target_fault("binary_cross_entropy", 0, bad), "");
  EXPECT_EQ(target_fault("mean_squared", 0, -7.5f), "");
}

TEST(Targets, ShapeOfTheOutput) {
  EXPECT_EQ(expected_target("cross_entropy", {3}).target, Shape{});
  EXPECT_EQ(expected_target("cross_entropy", {3}).classes, 3);
  EXPECT_EQ(expected_target("cross_entropy", {2, 16, 24}).target, (Shape{16, 24}));
  EXPECT_EQ(expected_target("mean_squared", {2, 4}).target, (Shape{2, 4}));
  EXPECT_THROW(expected_target("cross_entropy", {}), ConfigError);
  EXPECT_THROW(expected_target("cross_entropy", {1}), ConfigError);
}

}  // namespace
}  // namespace tutti::models::script
