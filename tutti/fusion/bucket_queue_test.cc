#include "tutti/fusion/bucket_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::fusion {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Report queued(const std::string& name, std::int64_t count, int priority = 0,
              const std::string& compression = "none") {
  return {.name = name,
          .signature = {.counts = {count}, .compression = compression},
          .priority = priority};
}

std::vector<std::string> names(const std::vector<Report>& bucket) {
  std::vector<std::string> all;
  for (const Report& report : bucket) all.push_back(report.name);
  return all;
}

// Up to 62 floats count as small.
constexpr BucketQueue::Settings kSmall{.bucket_bytes = 4000, .cycle_ns = 0, .window = 2};

TEST(BucketQueue, FillsBucketsInOrder) {
  BucketQueue queue(kSmall);
  for (int i = 0; i < 20; ++i) queue.add(queued("t" + std::to_string(i), 60), 0);
  const auto first = names(queue.next(0, 0));
  EXPECT_EQ(first.size(), 16u);  // 3840 bytes
  EXPECT_EQ(first[15], "t15");
  EXPECT_THAT(names(queue.next(0, 1)), ElementsAre("t16", "t17", "t18", "t19"));
  EXPECT_THAT(queue.next(0, 0), IsEmpty());
}

TEST(BucketQueue, BucketsNeededFirstOvertake) {
  BucketQueue queue(kSmall);
  queue.add(queued("last_layer", 80, 9), 0);
  queue.add(queued("middle", 80, 5), 0);
  EXPECT_THAT(queue.next(0, 2), IsEmpty());  // the window is full
  queue.add(queued("first_layer", 80, 0), 0);
  EXPECT_THAT(names(queue.next(0, 1)), ElementsAre("first_layer"));
  EXPECT_THAT(names(queue.next(0, 1)), ElementsAre("middle"));
}

TEST(BucketQueue, MembersKeepTheOrderOfArrival) {
  BucketQueue queue(kSmall);
  queue.add(queued("b1", 40, 2), 0);
  queue.add(queued("b0", 40, 1), 0);
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("b1", "b0"));
}

TEST(BucketQueue, OnlyCompatibleTensorsShareABucket) {
  BucketQueue queue(kSmall);
  queue.add(queued("a", 10), 0);
  Report other = queued("f64", 10);
  other.signature.dtype = DType::kF64;
  queue.add(other, 0);
  queue.add(queued("bf16", 10, 0, "bf16"), 0);
  queue.add(queued("b", 10), 0);
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("a", "b"));
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("f64"));
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("bf16"));
  Report own = queued("own", 10);
  own.signature.no_fusion = true;
  queue.add(own, 0);
  queue.add(queued("c", 10), 0);
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("own"));
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("c"));
  queue.add(queued("x", 10, 0, "int8"), 0);
  queue.add(queued("y", 10, 0, "int8"), 0);
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("x"));
}

TEST(BucketQueue, ALargeTensorIsASeparateBucket) {
  BucketQueue queue(kSmall);
  queue.add(queued("large", 63), 0);
  queue.add(queued("small", 1), 0);
  queue.add(queued("larger", 2000), 0);
  queue.add(queued("tiny", 1), 0);
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("large"));
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("small", "tiny"));
  EXPECT_THAT(names(queue.next(0, 0)), ElementsAre("larger"));
}

TEST(BucketQueue, ABucketThatIsNotFullWaitsForTheCycle) {
  BucketQueue queue({.bucket_bytes = 4000, .cycle_ns = 1000, .window = 2});
  queue.add(queued("a", 10), 50);
  EXPECT_THAT(queue.next(60, 0), IsEmpty());
  for (int i = 0; i < 17; ++i) queue.add(queued("b" + std::to_string(i), 60), 70);
  EXPECT_EQ(queue.next(80, 0).size(), 17u);  // full; b16 remains
  EXPECT_THAT(queue.next(80, 0), IsEmpty());
  EXPECT_THAT(names(queue.next(1070, 0)), ElementsAre("b16"));
  queue.add(queued("c", 10), 100);
  EXPECT_THAT(names(queue.next(1100, 0)), ElementsAre("c"));
  Report barrier = queued("barrier", 0);
  barrier.signature.kind = Kind::kBarrier;
  queue.add(barrier, 2000);
  EXPECT_THAT(names(queue.next(2000, 0)), ElementsAre("barrier"));  // never waits
}

}  // namespace
}  // namespace tutti::fusion
