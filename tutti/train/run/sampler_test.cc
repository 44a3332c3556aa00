#include "tutti/train/run/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tutti::train {
namespace {

TEST(Sampler, AnEpochSeesEverySampleOnce) {
  const std::int64_t samples = 103, batch = 5;
  const int ranks = 3;
  const EpochSchedule epoch_schedule(samples, batch * ranks);
  std::vector<Sampler> samplers;
  for (int rank = 0; rank < ranks; ++rank)
    samplers.emplace_back(samples, epoch_schedule, batch, rank, ranks, 7);
  const std::int64_t steps = epoch_schedule.steps_per_epoch();
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
  const EpochSchedule epoch_schedule(64, 8);
  Sampler alone(64, epoch_schedule, 8, 0, 1, 3), first(64, epoch_schedule, 4, 0, 2, 3),
      second(64, epoch_schedule, 4, 1, 2, 3), parts(64, epoch_schedule, 4, 0, 1, 3);
  for (std::int64_t step : {9, 0, 5}) {
    std::vector<std::int64_t> both = first.indices(step);
    const auto others = second.indices(step);
    both.insert(both.end(), others.begin(), others.end());
    EXPECT_EQ(alone.indices(step), both);
    EXPECT_EQ(first.indices(step), parts.indices(step, 0));
    EXPECT_EQ(others, parts.indices(step, 1));
  }
}

// The samples of two ranks, and those of three ranks after them, make up the epoch.
TEST(Sampler, ContinuesWithAnotherNumberOfRanks) {
  const std::int64_t samples = 96, batch = 4;
  const EpochSchedule before(samples, 2 * batch);
  const std::int64_t stop = 6;  // in the middle of the first epoch
  const EpochSchedule after(samples, 3 * batch, stop, before.position(stop));
  std::vector<std::int64_t> seen;
  auto take = [&](const EpochSchedule& epoch_schedule, int ranks, std::int64_t first,
                  std::int64_t last) {
    for (int rank = 0; rank < ranks; ++rank) {
      Sampler sampler(samples, epoch_schedule, batch, rank, ranks, 5);
      for (std::int64_t step = first; step < last; ++step)
        for (std::int64_t index : sampler.indices(step)) seen.push_back(index);
    }
  };
  take(before, 2, 0, stop);
  take(after, 3, stop, after.end_of_epoch(stop));
  EXPECT_EQ(seen.size(), 96u);
  EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), 96u);
}

}  // namespace
}  // namespace tutti::train
