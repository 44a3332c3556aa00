#include "bench/harness/statistics.h"

#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(summarise(std::vector{3.0, 1.0, 2.0}).median, 2);
  EXPECT_EQ(summarise(std::vector{4.0, 1.0, 2.0, 3.0}).median, 2.5);
  EXPECT_EQ(summarise(std::vector{7.0}).median, 7);
}

TEST(Statistics, SpreadIsTheMiddleHalf) {
  Summary summary = summarise(std::vector{5.0, 1.0, 2.0, 100.0, 3.0});
  EXPECT_EQ(summary.low, 2);
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.high, 5);
  EXPECT_EQ(summary.samples, 5);
}

TEST(Statistics, NoSamplesIsAnError) {
  EXPECT_THROW(summarise(std::vector<double>{}), ConfigError);
}

TEST(Statistics, SlowestRankOfEachBatch) {
  std::vector<std::vector<double>> ranks = {{1, 5, 2}, {3, 4, 2}};
  EXPECT_EQ(slowest(ranks), (std::vector<double>{3, 5, 2}));
  EXPECT_TRUE(slowest({}).empty());
  ranks.push_back({1});
  EXPECT_THROW(slowest(ranks), ConfigError);
}

}  // namespace
}  // namespace tutti::bench
