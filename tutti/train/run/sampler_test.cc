#include "tutti/train/run/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tutti/core/error.h"

namespace tutti::train {
namespace {

TEST(Sampler, AnEpochSeesEverySampleOnce) {
  const std::int64_t samples = 103, batch = 5;
  const int ranks = 3;
  std::vector<Sampler> samplers;
  for (int rank = 0; rank < ranks; ++rank) samplers.emplace_back(samples, batch, rank, ranks, 7);
  const std::int64_t steps = samplers[0].steps_per_epoch();
  EXPECT_EQ(steps, 6);
  std::vector<std::vector<std::int64_t>> epochs(2);
  for (std::int64_t step = 0; step < 2 * steps; ++step)
    for (Sampler& sampler : samplers)
      for (std::int64_t index : sampler.indices(step))
        epochs[static_cast<std::size_t>(step / steps)].push_back(index);
  for (const auto& epoch : epochs) {
    EXPECT_EQ(std::set<std::int64_t>(epoch.begin(), epoch.end()).size(), 90u);
    EXPECT_LT(*std::max_element(epoch.begin(), epoch.end()), samples);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(Sampler, AStepDoesNotDependOnTheNumberOfRanks) {
  Sampler alone(64, 8, 0, 1, 3), first(64, 4, 0, 2, 3), second(64, 4, 1, 2, 3);
  for (std::int64_t step : {9, 0, 5}) {
    std::vector<std::int64_t> both = first.indices(step);
    const auto others = second.indices(step);
    both.insert(both.end(), others.begin(), others.end());
    EXPECT_EQ(alone.indices(step), both);
  }
}

TEST(Sampler, TooFewSamples) {
  EXPECT_THROW(Sampler(7, 4, 0, 2, 1), ConfigError);
}

TEST(Random, IsUniformAndGaussian) {
  Random random(5);
  double sum = 0, squares = 0;
  std::vector<int> counts(10);
  const int n = 20000;
  for (int i = 0; i < n; ++i) {
    ++counts[random.below(10)];
    const double x = random.gaussian();
    sum += x;
    squares += x * x;
  }
  for (int count : counts) EXPECT_NEAR(count, n / 10, 5 * std::sqrt(n / 10));
  EXPECT_NEAR(sum / n, 0, 0.03);
  EXPECT_NEAR(squares / n, 1, 0.05);
  EXPECT_NE(mixed_seed(1, 2), mixed_seed(2, 1));
}

}  // namespace
}  // namespace tutti::train
