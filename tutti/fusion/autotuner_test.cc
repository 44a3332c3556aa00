#include "tutti/fusion/autotuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace tutti::fusion {
namespace {

// Simulates a job whose throughput depends on the point; returns the number of samples it took.
int run(Autotuner& tuner, const std::function<double(const Autotuner::Point&)>& rate) {
  std::mt19937 random(7);
  std::int64_t now = 0;
  int buckets = 0;
  for (; !tuner.is_done() && buckets < 100'000; ++buckets) {
    const double noise = 1 + 0.005 * std::sin(static_cast<double>(random() % 1000));
    now += static_cast<std::int64_t>(1e9 * 1e6 / (rate(tuner.point()) * noise));
    tuner.note(1'000'000, now);
  }
  return buckets;
}

// A throughput with a single maximum, at any point of the grid.
TEST(Autotuner, FindsTheBestPoint) {
  for (const Autotuner::Point best :
       {Autotuner::Point{1, 0}, Autotuner::Point{7, 3}, Autotuner::Point{4, 1}}) {
    Autotuner tuner({4, 0}, 10'000'000, 0);
    const int buckets = run(tuner, [&](const Autotuner::Point& p) {
      const int distance = std::abs(p.bucket - best.bucket) + std::abs(p.cycle - best.cycle);
      return 1e9 / (1 + 0.1 * distance);
    });
    EXPECT_EQ(tuner.point(), best) << tuner.text();
    EXPECT_LT(buckets, 32 * 7 * 11);  // each point at most once
    EXPECT_NEAR(tuner.best_rate(), 1e9, 2e7);
  }
}

TEST(Autotuner, StaysAtALocalOptimum) {
  Autotuner tuner({4, 0}, 10'000'000, 0);
  run(tuner, [](const Autotuner::Point&) { return 1e9; });
  EXPECT_EQ(tuner.point(), (Autotuner::Point{4, 0}));
}

TEST(Autotuner, ASampleHasAMinimumDuration) {
  Autotuner tuner({4, 0}, 1, 1.0);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(tuner.note(1 << 20, i));
}

}  // namespace
}  // namespace tutti::fusion
