#include "tutti/train/data/sample_cache.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tutti::train {
namespace {

// Sample i has i + 1 values i; counts the reads.
struct Source {
  int reads = 0;
  const std::vector<int>& of(SampleCache<int>& samples, int index) {
    return samples.get(index, [&](std::vector<int>& values) {
      ++reads;
      values.insert(values.end(), static_cast<std::size_t>(index + 1), index);
    });
  }
};

TEST(SampleCacheBudget, GrantsNothingIfTheDataDoNotFit) {
  SampleCacheBudget budget(10);
  EXPECT_TRUE(budget.take(6));
  EXPECT_FALSE(budget.take(5));
  EXPECT_TRUE(budget.take(4));
  EXPECT_FALSE(budget.take(1));
}

TEST(SampleCache, ReadsSamplesWithinTheBudgetOnce) {
  SampleCacheBudget budget(3 * sizeof(int));
  SampleCache<int> samples(&budget);
  samples.add(1);
  samples.add(2);
  Source source;
  for (int round = 0; round < 2; ++round)
    for (int index = 0; index < 3; ++index)
      EXPECT_EQ(source.of(samples, index),
                std::vector<int>(static_cast<std::size_t>(index + 1), index));
  EXPECT_EQ(source.reads, 4);  // 0 and 1 fill the budget; 2 is read each time
  EXPECT_FALSE(budget.take(1));
}

TEST(SampleCache, SeveralListsShareABudget) {
  SampleCacheBudget budget(2 * sizeof(int));
  SampleCache<int> first(&budget), second(&budget);
  first.add(2);
  second.add(2);
  Source source;
  source.of(first, 1);
  source.of(second, 1);
  source.of(first, 1);
  source.of(second, 1);
  EXPECT_EQ(source.reads, 3);
}

TEST(SampleCache, WithoutABudgetOnlyGivenSamplesAreKept) {
  SampleCache<int> samples;
  samples.add(std::vector<int>{7, 8});
  samples.add(1);
  Source source;
  EXPECT_EQ(source.of(samples, 0), (std::vector<int>{7, 8}));
  EXPECT_EQ(source.reads, 0);
  source.of(samples, 1);
  EXPECT_EQ(source.of(samples, 1), (std::vector<int>{1, 1}));
  EXPECT_EQ(source.reads, 2);
}

TEST(SampleCache, AFailedReadKeepsNothing) {
  SampleCacheBudget budget(100);
  SampleCache<int> samples(&budget);
  samples.add(1);
  EXPECT_THROW(samples.get(0,
                           [](std::vector<int>& values) {
                             values.push_back(1);
                             throw std::runtime_error("disk");
                           }),
               std::runtime_error);
  Source source;
  EXPECT_EQ(source.of(samples, 0), std::vector<int>{0});
}

}  // namespace
}  // namespace tutti::train
