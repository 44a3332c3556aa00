#include "tutti/plan/fit.h"

#include <gtest/gtest.h>

#include "tutti/plan/candidates.h"
#include "tutti/plan/cost.h"
#include "tutti/plan/test_grids.h"

namespace tutti::plan {
namespace {

using testing::grid_of;

Request all_reduce_of(std::int64_t bytes) {
  return {.collective = Collective::kAllReduce, .count = bytes / 4};
}

// Measurements of an ideal machine with the links of `grid`.
std::vector<Measurement> measure(const topo::Grid& grid) {
  std::vector<Measurement> measured;
  for (const std::int64_t bytes : {1 << 10, 1 << 18, 1 << 25}) {
    for (Choice choice : candidates(grid, all_reduce_of(bytes))) {
      choice.seconds = predict(grid, all_reduce_of(bytes), choice);
      measured.push_back({Collective::kAllReduce, bytes, choice});
    }
  }
  return measured;
}

void expect_fits(const topo::Grid& start, const topo::Grid& truth) {
  const topo::Grid fitted = fit_links(start, measure(truth));
  for (std::size_t d = 0; d < truth.dimensions.size(); ++d) {
    const topo::Link& wanted = truth.dimensions[d].link;
    EXPECT_NEAR(fitted.dimensions[d].link.latency / wanted.latency, 1, 0.05);
    EXPECT_NEAR(fitted.dimensions[d].link.seconds_per_byte / wanted.seconds_per_byte, 1, 0.05);
  }
}

TEST(FitLinks, FindsTheNetworkBehindTheTimes) {
  const topo::Grid start = grid_of({2, 4}, 1);
  topo::Grid truth = start;
  truth.dimensions[1].link.latency *= 30;
  truth.dimensions[1].link.seconds_per_byte /= 7;
  expect_fits(start, truth);
}

TEST(FitLinks, FindsTheMemoryOfOneHost) {
  const topo::Grid start = grid_of({3}, 1);
  topo::Grid truth = start;
  truth.dimensions[0].link.latency /= 5;
  truth.dimensions[0].link.seconds_per_byte *= 4;
  expect_fits(start, truth);
}

TEST(FitLinks, UnevenHosts) {
  const topo::Grid start = testing::uneven({3, 1, 2});
  topo::Grid truth = start;
  truth.dimensions[1].link.latency *= 4;
  expect_fits(start, truth);
}

TEST(FitLinks, NothingMeasuredChangesNothing) {
  const topo::Grid start = grid_of({2, 4}, 1);
  const topo::Grid fitted = fit_links(start, {});
  EXPECT_EQ(fitted.dimensions[1].link.latency, start.dimensions[1].link.latency);
}

TEST(FitLinks, NonsenseStaysFinite) {
  const topo::Grid start = grid_of({2, 4}, 1);
  auto measured = measure(start);
  for (Measurement& m : measured) m.choice.seconds = 1e-30;
  const topo::Link link = fit_links(start, measured).dimensions[1].link;
  EXPECT_GT(link.latency, 0);
  EXPECT_GT(link.seconds_per_byte, 0);
}

}  // namespace
}  // namespace tutti::plan
