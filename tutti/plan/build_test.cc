#include "tutti/plan/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tutti/core/error.h"
#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/choose.h"
#include "tutti/plan/test_grids.h"
#include "tutti/plan/verify.h"

namespace tutti::plan {
namespace {

using testing::grid_of;
using testing::round_robin;
using testing::uneven;
using topo::Grid;

Request request_of(Collective collective, int ranks, std::int64_t count, int root = 0) {
  Request request;
  request.collective = collective;
  request.count = count;
  request.root = root;
  request.peer = (root + 1) % ranks;
  for (int r = 0; r < ranks; ++r) request.counts.push_back((count + r * 7) % (count + 1));
  return request;
}

// Verifies the plans for `grid`: in place and out of place, with one lane and with three, in two schedules.
void expect_right(const Grid& grid, const Request& request, Choice choice) {
  for (const int lanes : {1, 3}) {
    choice.lanes = choice.algorithms.back() == "vendor" ? 1 : lanes;
    for (const bool in_place : {false, true}) {
      const unsigned seed = 17 * lanes + in_place;
      const bool in_library = lanes == 1;  // affects only the host_* algorithms, which use one lane
      const Report report = verify(grid, request, choice, {seed, in_place, in_library});
      ASSERT_EQ(report.problem, "")
          << choice.text() << " " << name_of(request.collective) << " of " << request.count
          << " elements, " << grid.size() << " ranks, root " << request.root << ", " << lanes
          << " lanes" << (in_place ? ", in place" : "");
    }
  }
}

std::vector<int> roots_of(Collective collective, int ranks) {
  const bool has_root = collective == Collective::kBroadcast || collective == Collective::kReduce ||
                        collective == Collective::kGather || collective == Collective::kScatter ||
                        collective == Collective::kSendReceive;
  if (!has_root || ranks == 1) return {0};
  return {0, ranks / 2, ranks - 1};
}

class EveryAlgorithm : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(EveryAlgorithm, IsRightOnALineOfAnyLength) {
  const Algorithm& algorithm = *GetParam();
  for (int c = 0; c < kCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 13, 16}) {
      const bool mapped = algorithm.is_mapped;
      if (!algorithm.supports(collective, {ranks, mapped})) continue;
      const Grid grid = grid_of({ranks}, mapped ? 1 : 0);
      for (const int root : roots_of(collective, ranks)) {
        for (const std::int64_t count : {0, 1, 3, 17, 1000}) {
          if (count == 1000 && ranks > 8) continue;
          const Choice choice{{std::string(algorithm.name)}};
          expect_right(grid, request_of(collective, ranks, count, root), choice);
        }
      }
    }
  }
}

std::vector<const Algorithm*> rows() {
  std::vector<const Algorithm*> rows;
  for (const Algorithm& row : algorithms()) {
    if (row.build != nullptr) rows.push_back(&row);
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return std::string(row.param->name); });

struct Case {
  Grid grid;
  std::vector<std::string> algorithms;
};

// Hosts x local ranks and grids of more dimensions, with ranks placed on hosts in blocks and round-robin.
std::vector<Case> cases_for(Collective collective) {
  const auto of_line = [&](const char* on_vector) -> std::string {
    switch (collective) {
      case Collective::kBroadcast:
      case Collective::kReduce: return "knomial";
      case Collective::kGather:
      case Collective::kScatter: return "knomial";
      case Collective::kAllToAll: return "pairwise";
      case Collective::kBarrier: return "dissemination";
      case Collective::kSendReceive: return "send_receive";
      default: return on_vector;
    }
  };
  const std::string ring = of_line("ring"), halving = of_line("halving_doubling");
  return {
      {grid_of({4, 1}, 1), {"direct"}},
      {grid_of({2, 2}, 2), {"direct", "direct"}},
      {grid_of({2, 4}, 1), {"direct", ring}},
      {round_robin(grid_of({2, 4}, 1)), {"direct", ring}},
      {grid_of({4, 3}, 1), {"direct", halving}},
      {round_robin(grid_of({3, 5}, 1)), {"direct", halving}},
      {uneven({1, 3, 2}), {"direct", ring}},
      {uneven({3, 2, 4}), {"direct", halving}},
      {round_robin(uneven({2, 2, 2})), {"direct", ring}},
      {uneven({2, 3}), {ring}},
      {grid_of({2, 2, 2}, 1), {"direct", ring, ring}},
      {grid_of({2, 2, 2}, 2), {"direct", "direct", halving}},
      {grid_of({2, 2, 2}, 2), {"direct", ring, ring}},
      {grid_of({2, 3, 2}, 1), {"direct", ring}},
      {grid_of({2, 3, 2}), {ring, halving, ring}},
      {grid_of({3, 1, 2}), {halving, ring, ring}},
      {grid_of({2, 4}, 1), {ring}},
  };
}

class EveryCollective : public ::testing::TestWithParam<int> {};

TEST_P(EveryCollective, IsRightOnAGrid) {
  const auto collective = static_cast<Collective>(GetParam());
  for (const Case& c : cases_for(collective)) {
    const bool is_alone = c.algorithms.back() == "direct";
    if (is_alone && collective == Collective::kSendReceive) continue;
    for (const int root : roots_of(collective, c.grid.size())) {
      for (const std::int64_t count : {0, 1, 17, 300}) {
        Choice choice{c.algorithms};
        expect_right(c.grid, request_of(collective, c.grid.size(), count, root), choice);
        choice.rails = 1;
        expect_right(c.grid, request_of(collective, c.grid.size(), count, root), choice);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collective, EveryCollective, ::testing::Range(0, kCollectiveCount),
                         [](const auto& c) { return name_of(static_cast<Collective>(c.param)); });

// Random grids: any sizes, any assignment of ranks to hosts, empty pieces.
TEST(Build, IsRightOnRandomGrids) {
  std::minstd_rand random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int trial = 0; trial < 250; ++trial) {
    const int mapped = below(3);
    Grid grid = trial % 3 == 0 ? uneven({1 + below(4), 1 + below(4), 1 + below(4)})
                               : grid_of({1 + below(4), 1 + below(3), 1 + below(3)}, mapped);
    std::vector<int> names(grid.size());
    std::iota(names.begin(), names.end(), 0);
    std::shuffle(names.begin(), names.end(), random);
    for (int& rank : grid.ranks) rank = names[rank];
    for (auto& host : grid.hosts) {
      for (int& rank : host) rank = names[rank];
    }
    const auto collective = static_cast<Collective>(below(kCollectiveCount));
    Request request = request_of(collective, grid.size(), below(200), below(grid.size()));
    for (auto& count : request.counts) count = below(3) == 0 ? 0 : below(40);
    request.element_bytes = std::size_t{1} << below(4);
    request.reproducible = below(4) == 0;
    Choice choice = choose(grid, request);
    choice.rails = below(3);
    expect_right(grid, request, choice);
  }
}

template <class... Arguments>
std::string error_of(const Arguments&... arguments) {
  try {
    build(arguments...);
  } catch (const ConfigError& error) {
    return error.code();
  }
  return "none";
}

TEST(Build, RejectsInvalidRequests) {
  const Grid grid = grid_of({2, 3}, 1);
  const Request all_reduce = request_of(Collective::kAllReduce, 6, 10);
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"rong"}}, 0), "DDL-1-20");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"multi_dimensional"}}, 0), "DDL-1-20");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{}, 0), "DDL-1-21");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"ring", "direct"}}, 0), "DDL-1-22");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"direct"}}, 0), "DDL-1-23");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"ring", "host_direct"}}, 0), "DDL-1-22");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"host_staged"}}, 0), "DDL-1-23");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"host_direct", "ring"}}, 0), "DDL-1-24");
  const Request too_large = request_of(Collective::kAllReduce, 2, kMaxSlotBytes / 4 + 1);
  EXPECT_EQ(error_of(grid_of({2}, 1), too_large, Choice{{"host_eager"}}, 0), "DDL-1-24");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"double_tree", "ring"}}, 0), "DDL-1-24");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"direct", "dissemination"}}, 0), "DDL-1-24");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"direct", "ring", "ring"}}, 0), "DDL-1-25");
  EXPECT_EQ(error_of(grid, all_reduce, Choice{{"ring"}}, 6), "DDL-1-27");
  Request scatter = request_of(Collective::kReduceScatter, 6, 10);
  EXPECT_EQ(error_of(grid, scatter, Choice{{"vendor", "ring"}}, 0), "DDL-1-31");
  scatter.counts.pop_back();
  EXPECT_EQ(error_of(grid, scatter, Choice{{"ring"}}, 0), "DDL-1-26");
  Request broadcast = request_of(Collective::kBroadcast, 6, 10, 6);
  EXPECT_EQ(error_of(grid, broadcast, Choice{{"knomial"}}, 0), "DDL-1-27");
  Request reproducible = all_reduce;
  reproducible.reproducible = true;
  EXPECT_EQ(error_of(grid, reproducible, Choice{{"ring"}}, 0), "DDL-1-24");
}

TEST(Build, VendorCallsNeverOverlap) {
  const Request request = request_of(Collective::kAllReduce, 4, 1000);
  EXPECT_EQ(build(grid_of({2, 2}, 1), request, {{"direct", "vendor"}, 8}, 0).lanes.size(), 1U);
  // Empty slices issue no call, on any rail.
  expect_right(uneven({2, 2}), request_of(Collective::kAllReduce, 4, 1), {{"direct", "vendor"}});
}

}  // namespace
}  // namespace tutti::plan
