#include "tutti/lms/pager/ranges.h"

#include <gtest/gtest.h>

namespace tutti::lms {
namespace {

TEST(Ranges, TakesTheLowestThatFits) {
  Ranges ranges(100);
  EXPECT_EQ(ranges.take(10), 0);
  EXPECT_EQ(ranges.take(20, 16), 16);
  EXPECT_EQ(ranges.take(6), 10);
  EXPECT_EQ(ranges.take(70), std::nullopt);
  EXPECT_EQ(ranges.take(64), 36);
}

TEST(Ranges, MergesNeighbours) {
  Ranges ranges(30);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ranges.take(10), 10 * i);
  ranges.give_back(0, 10);
  ranges.give_back(20, 10);
  EXPECT_EQ(ranges.take(11), std::nullopt);
  ranges.give_back(10, 10);
  EXPECT_EQ(ranges.take(30), 0);
}

TEST(Ranges, GrowsAtTheEnd) {
  Ranges ranges(0);
  EXPECT_EQ(ranges.take(1), std::nullopt);
  ranges.extend(8);
  EXPECT_EQ(ranges.take(4), 0);
  ranges.extend(8);
  EXPECT_EQ(ranges.take(12), 4);
  EXPECT_EQ(ranges.end(), 16);
}

}  // namespace
}  // namespace tutti::lms
