#include "tutti/fusion/bucket_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::fusion {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Order = BucketSchedule::Order;

// Four gradients of 64 bytes, two in each bucket: {3, 2} and {1, 0}.
struct Fixture {
  explicit Fixture(Order order)
      : schedule(std::vector<GradientSize>(4, {16}), {128, 128}, order,
                 [this](std::size_t b) { started.push_back(b); }) {}
  void mark(std::initializer_list<std::size_t> gradients) {
    for (const std::size_t i : gradients) schedule.mark_ready(i);
  }
  std::vector<std::size_t> started;
  BucketSchedule schedule;
};

TEST(BucketSchedule, AFullBucketStartsAtOnce) {
  Fixture f(Order::kAsReady);
  EXPECT_FALSE(f.schedule.has_begun());
  f.mark({0, 1});
  EXPECT_TRUE(f.schedule.has_begun());
  EXPECT_THAT(f.started, ElementsAre(1));
  f.mark({3, 2});
  EXPECT_THAT(f.started, ElementsAre(1, 0));
}

TEST(BucketSchedule, ThePlannedOrderIsKept) {
  Fixture f(Order::kPlanned);
  f.mark({0, 1, 3});
  EXPECT_THAT(f.started, IsEmpty());
  f.mark({2});
  EXPECT_THAT(f.started, ElementsAre(0, 1));
}

TEST(BucketSchedule, UnusedParametersFollowAtTheEnd) {
  for (const Order order : {Order::kAsReady, Order::kPlanned}) {
    Fixture f(order);
    f.mark({3, 2, 1});
    f.schedule.start_rest();
    EXPECT_THAT(f.started, ElementsAre(0, 1));
    f.schedule.begin(1);
    EXPECT_FALSE(f.schedule.has_begun());
    f.schedule.start_rest();
    EXPECT_THAT(f.started, ElementsAre(0, 1, 0, 1));
  }
}

TEST(BucketSchedule, OnlyTheLastPassStartsBuckets) {
  Fixture f(Order::kAsReady);
  f.schedule.begin(2);
  f.mark({3, 2, 1, 0, 3});
  EXPECT_THAT(f.started, IsEmpty());
  f.mark({2});
  EXPECT_THAT(f.started, ElementsAre(0));
  EXPECT_THROW(f.mark({2}), ConfigError);
  EXPECT_THROW(f.schedule.begin(0), ConfigError);
}

}  // namespace
}  // namespace tutti::fusion
