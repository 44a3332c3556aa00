#include "tutti/plan/build.h"

#include <gtest/gtest.h>

#include "tutti/core/error.h"
#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/test_grids.h"
#include "tutti/plan/verify.h"

namespace tutti::plan {
namespace {

using testing::dealt;
using testing::grid_of;
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

// Every way of working on `grid`: in and out of place, one lane and three, in two orders of turns.
void expect_right(const Grid& grid, const Request& request, Choice choice) {
  for (const int lanes : {1, 3}) {
    choice.lanes = choice.algorithms.back() == "vendor" ? 1 : lanes;
    for (const bool in_place : {false, true}) {
      const unsigned seed = 17 * lanes + in_place;
      const Report report = verify(grid, request, choice, {seed, in_place});
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
      const bool mapped = algorithm.name == "direct";
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

// Hosts x local ranks and more dimensions, of any shape, dealt either way.
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
      {dealt(grid_of({2, 4}, 1)), {"direct", ring}},
      {grid_of({4, 3}, 1), {"direct", halving}},
      {dealt(grid_of({3, 5}, 1)), {"direct", halving}},
      {uneven({1, 3, 2}), {"direct", ring}},
      {uneven({3, 2, 4}), {"direct", halving}},
      {dealt(uneven({2, 2, 2})), {"direct", ring}},
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

}  // namespace
}  // namespace tutti::plan
