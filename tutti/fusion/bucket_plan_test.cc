#include "tutti/fusion/bucket_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::fusion {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(BucketPlan, OrdersGradientsFromTheLastToTheFirst) {
  const std::vector<GradientSize> sizes = {{100}, {200}, {16}, {16}};
  const auto buckets = plan_buckets(sizes, {1024, 128});
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_THAT(buckets[0].members, ElementsAre(3, 2));  // 128 bytes: the first bucket is small
  EXPECT_THAT(buckets[0].offsets, ElementsAre(0, 16));
  EXPECT_THAT(buckets[1].members, ElementsAre(1));
  EXPECT_THAT(buckets[2].members, ElementsAre(0));
  EXPECT_EQ(buckets[2].count, 112);  // padded to full cache lines
}

TEST(BucketPlan, EveryTypeHasSeparateBuckets) {
  const std::vector<GradientSize> sizes = {
      {10, DType::kF32}, {10, DType::kBF16}, {10, DType::kF32}, {0, DType::kBF16}};
  const auto buckets = plan_buckets(sizes, {1 << 20, 1 << 20});
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_THAT(buckets[0].members, ElementsAre(3, 1));
  EXPECT_THAT(buckets[1].members, ElementsAre(2, 0));
  EXPECT_EQ(buckets[0].count, 32);
}

TEST(BucketPlan, MembersOfOneArrayFollowEachOtherWithoutPadding) {
  const std::vector<GradientSize> sizes = {{5}, {7}, {1}, {3}};
  const auto buckets = plan_buckets(sizes, {32, 32, sizeof(float)});
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_THAT(buckets[0].members, ElementsAre(3, 2));
  EXPECT_EQ(buckets[0].count, 4);
  EXPECT_THAT(buckets[1].members, ElementsAre(1));
  EXPECT_EQ(buckets[1].count, 7);
  EXPECT_THAT(buckets[2].members, ElementsAre(0));
}

TEST(BucketPlan, NoGradientsGiveNoBuckets) {
  EXPECT_THAT(plan_buckets({}, {1, 1}), IsEmpty());
}

}  // namespace
}  // namespace tutti::fusion
