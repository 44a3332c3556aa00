#include "tutti/plan/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"
#include "tutti/plan/build.h"
#include "tutti/plan/candidates.h"
#include "tutti/plan/cost.h"
#include "tutti/plan/test_grids.h"
#include "tutti/plan/verify.h"

namespace tutti::plan {
namespace {

using ::testing::ElementsAre;
using testing::grid_of;
using ::testing::HasSubstr;
using testing::uneven;

Request all_reduce(std::int64_t count) {
  Request request;
  request.count = count;
  return request;
}

TEST(Choose, EveryChoiceGivesACorrectPlan) {
  for (const auto& grid : {grid_of({1}), grid_of({5}, 1), grid_of({4, 3}, 1), uneven({2, 3, 1}),
                           grid_of({2, 2, 3}, 1), grid_of({2, 2}), grid_of({3, 1}, 1)}) {
    for (int c = 0; c < kCollectiveCount; ++c) {
      for (const bool reproducible : {false, true}) {
        Request request = all_reduce(500);
        request.collective = static_cast<Collective>(c);
        request.counts.assign(grid.size(), 9);
        request.peer = grid.size() - 1;
        request.reproducible = reproducible;
        const Choice choice = choose(grid, request);
        EXPECT_NE(choice.reason, "");
        EXPECT_EQ(verify(grid, request, choice).problem, "")
            << name_of(request.collective) << " by " << choice.text();
      }
    }
  }
}

TEST(Choose, SmallMessagesUseFewStepsLargeOnesFewBytes) {
  const auto grid = grid_of({2, 8}, 1);
  EXPECT_THAT(choose(grid, all_reduce(16)).algorithms, ElementsAre("direct", "recursive_doubling"));
  EXPECT_EQ(choose(grid, all_reduce(16)).rails, 1);
  const Choice large = choose(grid, all_reduce(64 << 20));
  EXPECT_THAT(large.algorithms, ElementsAre("direct", "halving_doubling"));
  EXPECT_EQ(large.lanes, 16);
  EXPECT_EQ(large.rails, 0);
}

TEST(Choose, OneHostIsDirectInOneLane) {
  const Choice choice = choose(grid_of({4, 1}, 1), all_reduce(64 << 20));
  EXPECT_THAT(choice.algorithms, ElementsAre("host_direct"));
  EXPECT_EQ(choice.lanes, 1);
  Request gather = all_reduce(0);
  gather.collective = Collective::kAllGather;
  gather.counts.assign(4, 1000);
  EXPECT_THAT(choose(grid_of({4, 1}, 1), gather).algorithms, ElementsAre("direct"));
}

TEST(Choose, TheSizeDecidesOnOneHost) {
  const auto grid = grid_of({2, 2}, 2);
  Request request = all_reduce(1000);
  request.eager_bytes = request.count * request.element_bytes;
  for (const char* mode : {"p", "b", "n", "direct", "b:2x2"}) {
    const Override by_mode{.mode = parse_mode(mode), .lanes = 4};
    const std::vector<Measurement> other = {{Collective::kAllReduce, 4000, {{"ring"}}}};
    EXPECT_THAT(choose(grid, request, other, by_mode).algorithms, ElementsAre("host_eager"));
    Request larger = request;
    ++larger.count;
    const Choice choice = choose(grid, larger, other, by_mode);
    EXPECT_THAT(choice.algorithms, ElementsAre("host_direct"));
    EXPECT_EQ(choice.lanes, 1);
  }
  EXPECT_THAT(choose(grid, request).reason, HasSubstr("vectors up to 4000 bytes"));
  const std::vector<Measurement> known = {
      {Collective::kAllReduce, 4000, {.algorithms = {"host_eager"}, .seconds = 3e-6}}};
  EXPECT_THAT(choose(grid, request, known).reason, HasSubstr("measured 3.0 us"));
  request.eager_bytes = 0;
  EXPECT_THAT(choose(grid, request, known).reason, HasSubstr("predicted"));
  EXPECT_THAT(choose(grid, request).reason, HasSubstr("other memory host_staged"));
  const Override eager{.mode = parse_mode("host_eager")};
  EXPECT_THAT(choose(grid, request, {}, eager).text(), "host_eager x host_eager");
  EXPECT_THAT(choose(grid, all_reduce(1 << 20), {}, eager).text(), "host_direct");
  const Override staged{.mode = parse_mode("host_staged")};
  EXPECT_THAT(choose(grid, request, {}, staged).text(), "host_staged x host_staged");
}

TEST(Choose, PrefersDimensionsToOneRingWhenTheyHelp) {
  const auto grid = grid_of({4, 8, 8});
  const Request request = all_reduce(1 << 22);
  EXPECT_LT(predict(grid, request, {{"ring", "ring", "ring"}}), predict(grid, request, {{"ring"}}));
  EXPECT_EQ(choose(grid, request).algorithms.size(), 3U);
}

TEST(Choose, FollowsTheMode) {
  const auto grid = grid_of({4, 3}, 1);
  const Choice b = choose(grid, all_reduce(100), {}, {.mode = parse_mode("b")});
  EXPECT_THAT(b.algorithms, ElementsAre("direct", "ring"));
  EXPECT_EQ(b.reason, "by option");
  EXPECT_THAT(choose(grid, all_reduce(100), {}, {.mode = parse_mode("c")}).algorithms,
              ElementsAre("halving_doubling", "halving_doubling"));
  // A tree has no reduce_scatter, so as the last of several algorithms it covers all dimensions.
  EXPECT_THAT(choose(grid, all_reduce(100), {}, {.mode = parse_mode("double_tree")}).algorithms,
              ElementsAre("double_tree"));
  EXPECT_EQ(choose(grid, all_reduce(10 << 20), {}, {.mode = parse_mode("m")}).lanes, 1);
}

TEST(Choose, AnUnsupportedAlgorithmIsReplaced) {
  const auto grid = grid_of({4, 3}, 1);
  Request request = all_reduce(100);
  request.collective = Collective::kBroadcast;
  const Choice choice = choose(grid, request, {}, {.mode = parse_mode("r")});
  EXPECT_EQ(verify(grid, request, choice).problem, "");
  EXPECT_THAT(choice.reason, HasSubstr("do not support broadcast"));
  request.collective = Collective::kAllReduce;
  request.reproducible = true;
  EXPECT_THAT(choose(grid, request, {}, {.mode = parse_mode("r")}).algorithms,
              ElementsAre("pairwise"));
  request.reproducible = false;
  EXPECT_THROW(choose(grid, request, {}, {.mode = parse_mode("direct")}), ConfigError);
  EXPECT_THROW(choose(grid, request, {}, {.mode = parse_mode("ring,direct")}), ConfigError);
}

TEST(Choose, MeasurementsDecideAndTheModelFillsTheGaps) {
  const auto grid = grid_of({2, 8}, 1);
  const auto measured = [](std::int64_t bytes, const char* name, double seconds) {
    return Measurement{Collective::kAllReduce, bytes, {{"direct", name}, 1, 0, "", seconds}};
  };
  const std::vector<Measurement> table{
      measured(1024, "knomial", 1e-6), measured(1024, "ring", 2e-6),
      measured(1 << 20, "ring", 1e-3), measured(1 << 20, "knomial", 2e-3)};
  EXPECT_THAT(choose(grid, all_reduce(300), table).algorithms, ElementsAre("direct", "knomial"));
  EXPECT_THAT(choose(grid, all_reduce(300), table).reason, HasSubstr("measured at 1024 bytes"));
  EXPECT_THAT(choose(grid, all_reduce(200 << 20), table).algorithms, ElementsAre("direct", "ring"));
  EXPECT_THAT(choose(grid, all_reduce(1 << 17), table).algorithms, ElementsAre("direct", "ring"));
}

TEST(Choose, LanesByTableOrOverride) {
  EXPECT_EQ(default_lanes(1023 * 1024), 1);
  EXPECT_EQ(default_lanes(4 << 20), 4);
  EXPECT_EQ(default_lanes(16 << 20), 8);
  EXPECT_EQ(default_lanes(1 << 30), 16);
  const auto grid = grid_of({2});
  EXPECT_EQ(choose(grid, all_reduce(1 << 20), {}, {.lanes = 5}).lanes, 5);
}

TEST(Choose, CandidatesCanAllBeBuilt) {
  const auto grid = grid_of({2, 2, 3}, 1);
  const auto all = candidates(grid, all_reduce(1000));
  EXPECT_GE(all.size(), 10U);
  for (const Choice& choice : all) {
    EXPECT_EQ(verify(grid, all_reduce(1000), choice).problem, "") << choice.text();
  }
}

}  // namespace
}  // namespace tutti::plan
