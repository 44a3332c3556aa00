// Checks the costs documented in docs/design/algorithms.md: steps, bytes, depth and reduction order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <map>
#include <sstream>

#include "tutti/plan/algorithms/double_tree.h"
#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/build.h"
#include "tutti/plan/test_grids.h"
#include "tutti/plan/verify.h"

namespace tutti::plan {
namespace {

using testing::grid_of;
using testing::round_robin;
using testing::uneven;
using topo::Grid;

// Elements of one cache line each, so pieces are as even as possible.
Request request_for(Collective collective, std::int64_t count, int ranks = 1) {
  Request request;
  request.collective = collective;
  request.count = count;
  request.counts.assign(ranks, count / ranks);
  request.element_bytes = 64;
  return request;
}

Report run(const Grid& grid, const Request& request, const Choice& choice) {
  const Report report = verify(grid, request, choice);
  EXPECT_EQ(report.problem, "") << choice.text();
  return report;
}

TEST(DocumentedCosts, FourByEightByEightTakes34StepsNot510) {
  const Request request = request_for(Collective::kAllReduce, 256);
  const Report rings = run(grid_of({4, 8, 8}), request, {{"ring", "ring", "ring"}});
  EXPECT_EQ(rings.rounds, 34);
  EXPECT_EQ(rings.max_exchanges(), 34);
  EXPECT_EQ(rings.max_bytes_sent(), 2 * 255 * 64);
  // The slow dimensions carry only the remaining piece.
  EXPECT_THAT(rings.ranks[0].bytes_along,
              ::testing::ElementsAre(2 * 192 * 64, 2 * 56 * 64, 2 * 7 * 64));
  const Report flat = run(grid_of({4, 8, 8}), request, {{"ring"}});
  EXPECT_EQ(flat.rounds, 510);
  EXPECT_EQ(flat.max_bytes_sent(), 2 * 255 * 64);
}

TEST(DocumentedCosts, RingIsOptimalInBytes) {
  for (const int n : {2, 3, 5, 8, 13}) {
    const Report report = run(grid_of({n}), request_for(Collective::kAllReduce, 4 * n), {{"ring"}});
    EXPECT_EQ(report.rounds, 2 * (n - 1));
    for (const RankTraffic& rank : report.ranks) {
      EXPECT_EQ(rank.exchanges, 2 * (n - 1));
      EXPECT_EQ(rank.bytes_sent, 2 * (n - 1) * 4 * 64);
    }
  }
}

TEST(DocumentedCosts, HalvingDoublingIsOptimalInBytesWithLogSteps) {
  for (const int log : {1, 2, 3, 4}) {
    const int n = 1 << log;
    const Report report =
        run(grid_of({n}), request_for(Collective::kAllReduce, 4 * n), {{"halving_doubling"}});
    EXPECT_EQ(report.rounds, 2 * log);
    for (const RankTraffic& rank : report.ranks) EXPECT_EQ(rank.bytes_sent, 2 * (n - 1) * 4 * 64);
  }
  for (const int n : {3, 5, 7, 13}) {
    const Report report =
        run(grid_of({n}), request_for(Collective::kAllReduce, 4 * n), {{"halving_doubling"}});
    EXPECT_EQ(report.rounds, 2 * (std::bit_width(unsigned(n)) - 1) + 2) << n;
  }
}

TEST(DocumentedCosts, RecursiveDoublingHasTheFewestSteps) {
  for (const int n : {2, 4, 8, 16, 3, 7, 13}) {
    const Report report =
        run(grid_of({n}), request_for(Collective::kAllReduce, 4), {{"recursive_doubling"}});
    const bool is_power = std::has_single_bit(unsigned(n));
    EXPECT_EQ(report.rounds, std::bit_width(unsigned(n)) - 1 + (is_power ? 0 : 2)) << n;
  }
}

TEST(DocumentedCosts, SmallVectorsOverHostsNeedTheStepsOfTheirNetworkOnly) {
  Request request = request_for(Collective::kAllReduce, 32);
  for (const Grid& grid :
       {grid_of({2, 4}, 1), round_robin(grid_of({3, 4}, 1)), uneven({1, 3, 2, 2})}) {
    const Choice choice{{"direct", "recursive_doubling"}, 1, 1};
    for (const bool in_place : {false, true}) {
      const Report report = verify(grid, request, choice, {.in_place = in_place});
      EXPECT_EQ(report.problem, "");
      EXPECT_EQ(report.rounds, 2);
      for (const RankTraffic& rank : report.ranks) {
        EXPECT_EQ(rank.bytes_mapped, 0);
        EXPECT_TRUE(rank.bytes_sent == 0 || rank.bytes_sent == 2 * 32 * 64);
      }
    }
    for (const Plan& plan : {build(grid, request, choice, 0), build(grid, request, choice, 1)}) {
      EXPECT_FALSE(plan.uses_mapped_memory());
    }
  }
  request.count = kMaxSlotBytes / 64 + 1;
  EXPECT_TRUE(
      build(grid_of({2, 4}, 1), request, {{"direct", "ring"}, 1, 1}, 0).uses_mapped_memory());
}

int depth_of(int index, int size, int tree) {
  int depth = 0;
  while ((index = tree_node(index, size, tree).parent) >= 0) ++depth;
  return depth;
}

TEST(DocumentedCosts, DoubleTreeIsLogDeepAndEveryRankALeafOnce) {
  for (int n = 1; n <= 130; ++n) {
    for (const int tree : {0, 1}) {
      for (int i = 0; i < n; ++i) {
        ASSERT_LE(depth_of(i, n, tree), std::bit_width(unsigned(n - 1))) << i << " of " << n;
        for (const int child : tree_node(i, n, tree).children) {
          ASSERT_TRUE(child < 0 || tree_node(child, n, tree).parent == i);
        }
      }
    }
    for (int i = 0; i < n; ++i) {
      const auto is_leaf = [&](int tree) {
        const TreeNode node = tree_node(i, n, tree);
        return node.children[0] < 0 && node.children[1] < 0;
      };
      ASSERT_TRUE(is_leaf(0) || is_leaf(1) || n % 2 == 1) << i << " of " << n;
    }
  }
}

TEST(DocumentedCosts, DoubleTreeSendsTwiceTheVectorOverBothTrees) {
  for (const int n : {2, 4, 8, 16}) {
    const Report report =
        run(grid_of({n}), request_for(Collective::kAllReduce, 64), {{"double_tree"}, 2});
    EXPECT_LE(report.max_bytes_sent(), 2 * 64 * 64) << n;
    EXPECT_LE(report.rounds, 4 * std::bit_width(unsigned(n - 1))) << n;
  }
}

TEST(DocumentedCosts, KnomialTakesLogRounds) {
  for (const auto& [n, rounds] : {std::pair{2, 1}, {4, 3}, {5, 4}, {16, 6}}) {
    const Report down = run(grid_of({n}), request_for(Collective::kBroadcast, 8), {{"knomial"}});
    EXPECT_EQ(down.rounds, rounds) << n;
    const Report up = run(grid_of({n}), request_for(Collective::kReduce, 8), {{"knomial"}});
    EXPECT_EQ(up.rounds, rounds) << n;
  }
  const Report gather = run(grid_of({16}), request_for(Collective::kGather, 32, 16), {{"knomial"}});
  EXPECT_EQ(gather.rounds, 6);
  EXPECT_EQ(gather.max_bytes_sent(), 4 * 2 * 64);  // a subtree of four ranks
}

TEST(DocumentedCosts, DirectTouchesEveryByteOnce) {
  for (const int n : {2, 3, 8}) {
    const std::int64_t count = 8 * n;
    const Report report =
        run(grid_of({n}, 1), request_for(Collective::kAllReduce, count), {{"direct"}});
    EXPECT_EQ(report.max_exchanges(), 0);
    for (const RankTraffic& rank : report.ranks) EXPECT_EQ(rank.bytes_mapped, 2 * count * 64);
    const Plan plan =
        build(grid_of({n}, 1), request_for(Collective::kAllReduce, count), {{"direct"}}, 0);
    EXPECT_EQ(plan.lanes[0].steps.size(), 3U);  // host barrier, reduce, host barrier
  }
}

// One step and no message. Each rank reads and writes exactly the bytes stated by the cost function.
TEST(DocumentedCosts, OneHostReducesInOneStep) {
  for (const int n : {2, 3, 8}) {
    const std::int64_t count = 8 * n, bytes = count * 64;
    const Request request = request_for(Collective::kAllReduce, count);
    const std::map<std::string, std::int64_t> claims = {{"host_eager", (n + 3) * bytes},
                                                        {"host_direct", 2 * bytes},
                                                        {"host_staged", 5 * bytes - 2 * bytes / n}};
    for (const auto& [name, moved] : claims) {
      const Report report = run(grid_of({n}, 1), request, {{name}});
      EXPECT_EQ(report.max_exchanges(), 0);
      for (const RankTraffic& rank : report.ranks) EXPECT_EQ(rank.bytes_mapped, moved) << name;
      const Cost cost = find_algorithm(name)->cost(Collective::kAllReduce, n, double(bytes), 1);
      EXPECT_EQ(cost.bytes, double(moved));
      EXPECT_EQ(cost.steps, name == "host_eager" ? 1 : 2);
      const Plan plan = build(grid_of({n}, 1), request, {{name}}, 0);
      EXPECT_NE(plan.host_all_reduce(), nullptr);
    }
  }
  const Cost rounds = host_staged().cost(Collective::kAllReduce, 2, 2.5 * stage_bytes(2), 1);
  EXPECT_EQ(rounds.steps, 2 * 3);
}

TEST(DocumentedCosts, OtherMemoryFallsBackToSlotsOrStages) {
  const Grid grid = grid_of({4}, 1);
  for (const auto& [count, protocol] :
       {std::pair{8 * 16, HostProtocol::kEager}, {8 * 16 + 1, HostProtocol::kStaged}}) {
    const Request request = request_for(Collective::kAllReduce, count);  // elements of 64 bytes
    const Choice direct{{"host_direct"}};
    EXPECT_EQ(build(grid, request, direct, 0).host_all_reduce()->fallback, protocol);
    const char* name = protocol == HostProtocol::kEager ? "host_eager" : "host_staged";
    const Report fallback = verify(grid, request, direct, {.library_memory = false});
    EXPECT_EQ(fallback.problem, "");
    EXPECT_EQ(fallback.ranks[1].bytes_mapped, run(grid, request, {{name}}).ranks[1].bytes_mapped);
  }
}

TEST(DocumentedCosts, OneHostSynchronisesEvenWithoutElements) {
  for (const char* name : {"host_eager", "host_direct", "host_staged"}) {
    const Request request = request_for(Collective::kAllReduce, 0);
    EXPECT_NE(build(grid_of({3}, 1), request, {{name}}, 2).host_all_reduce(), nullptr);
    run(grid_of({3}, 1), request, {{name}});
  }
}

TEST(DocumentedCosts, AHostSendsAsMuchAsOneRankOfItWould) {
  constexpr std::int64_t kCount = 96;
  const Request request = request_for(Collective::kAllReduce, kCount);
  for (const char* algorithm : {"ring", "halving_doubling"}) {
    const Choice choice{{"direct", algorithm}};
    for (const Grid& grid :
         {grid_of({2, 4}, 1), round_robin(grid_of({2, 4}, 1)), uneven({2, 3, 2, 4}),
          round_robin(grid_of({4, 4}, 1)), grid_of({6, 2, 2}, 1)}) {
      const Report report = run(grid, request, choice);
      for (const auto bytes : report.host_bytes_sent) EXPECT_EQ(bytes, kCount * 64 * 3 / 2);
      for (const auto bytes : report.host_bytes_received) EXPECT_EQ(bytes, kCount * 64 * 3 / 2);
    }
  }
}

TEST(DocumentedCosts, BroadcastAndAllGatherSendEachByteOnceToEachHost) {
  const Grid grid = round_robin(grid_of({3, 4}, 1));
  const Report broadcast =
      run(grid, request_for(Collective::kBroadcast, 96), {{"direct", "knomial"}});
  for (std::size_t h = 1; h < 4; ++h) EXPECT_EQ(broadcast.host_bytes_received[h], 96 * 64);
  const Report gathered =
      run(grid, request_for(Collective::kAllGather, 96, 12), {{"direct", "ring"}});
  for (const auto bytes : gathered.host_bytes_received) EXPECT_EQ(bytes, 96 * 64 * 3 / 4);
  const Report scattered =
      run(grid, request_for(Collective::kReduceScatter, 96, 12), {{"direct", "ring"}});
  for (const auto bytes : scattered.host_bytes_sent) EXPECT_EQ(bytes, 96 * 64 * 3 / 4);
}

TEST(DocumentedCosts, BarrierTakesLogRounds) {
  for (const auto& [n, rounds] : {std::pair{2, 1}, {3, 2}, {4, 2}, {5, 3}, {16, 4}}) {
    EXPECT_EQ(run(grid_of({n}), request_for(Collective::kBarrier, 0), {{"dissemination"}}).rounds,
              rounds);
  }
  const Grid grid = grid_of({4, 8}, 1);
  EXPECT_EQ(run(grid, request_for(Collective::kBarrier, 0), {{"direct", "dissemination"}}).rounds,
            3);
}

// Cost functions match the plans: exactly for powers of the radix, as an upper bound otherwise.
TEST(DocumentedCosts, CostsAreThoseOfThePlans) {
  for (const Algorithm& row : algorithms()) {
    if (row.build == nullptr || row.name == "direct" || row.name == "vendor") continue;
    for (int c = 0; c < kCollectiveCount; ++c) {
      const auto collective = static_cast<Collective>(c);
      for (const int n : {2, 3, 4, 5, 8, 13, 16}) {
        if (!row.supports(collective, {n})) continue;
        Request request = request_for(collective, 16 * n, n);
        request.peer = 1;
        if (collective == Collective::kAllToAll) request.count = 16;
        const double bytes = 64.0 * 16 * n;
        const Report report = run(grid_of({n}), request, {{std::string(row.name)}});
        const Cost cost = row.cost(collective, n, bytes, 1);
        const auto where =
            std::string(row.name) + " " + name_of(collective) + " " + std::to_string(n);
        EXPECT_LE(report.rounds, cost.steps) << where;
        EXPECT_GE(report.rounds, cost.steps / 3) << where;
        if (n == 4 || n == 16) {
          EXPECT_TRUE(report.rounds == cost.steps || row.name == "double_tree") << where;
          const bool moves_data = collective != Collective::kBarrier;
          EXPECT_LE(moves_data ? report.max_bytes_sent() : 0, cost.bytes) << where;
        }
      }
    }
  }
}

TEST(DocumentedCosts, ReproducibleReductionsAreInRankOrderOnAnyGrid) {
  for (const auto collective :
       {Collective::kAllReduce, Collective::kReduce, Collective::kReduceScatter}) {
    for (const std::int64_t count : {0, 1, 24, 101}) {
      for (const bool in_place : {false, true}) {
        const auto check = [&](const Grid& grid, const Choice& choice) {
          Request request = request_for(collective, count, grid.size());
          request.root = grid.size() - 1;
          request.element_bytes = 4;
          request.reproducible = true;
          EXPECT_EQ(verify(grid, request, choice, {3, in_place}).problem, "") << choice.text();
        };
        check(grid_of({4}, 1), {{"direct"}});
        if (collective == Collective::kAllReduce) {
          for (const char* name : {"host_eager", "host_direct", "host_staged"}) {
            check(grid_of({4}, 1), {{name}});
          }
        }
        check(grid_of({7}), {{"pairwise"}, 2});
        check(round_robin(grid_of({2, 4}, 1)), {{"pairwise"}});
        check(round_robin(grid_of({2, 4}, 1)), {{"direct", "pairwise"}, 3});
        check(uneven({3, 1, 2}), {{"pairwise"}});
        check(grid_of({2, 2, 2}, 2), {{"pairwise"}});
      }
    }
  }
}

TEST(DocumentedCosts, AllToAllWithCountsThatDiffer) {
  for (const int n : {1, 2, 5, 8}) {
    std::vector<Request> requests;
    const auto amount = [](int from, int to) { return std::int64_t{(from * 7 + to * 3) % 5}; };
    for (int r = 0; r < n; ++r) {
      Request& request = requests.emplace_back(request_for(Collective::kAllToAll, 0));
      for (int other = 0; other < n; ++other) {
        request.send_counts.push_back(amount(r, other));
        request.receive_counts.push_back(amount(other, r));
      }
    }
    for (const Grid& grid : {grid_of({n}), uneven(std::vector<int>(n, 1))}) {
      std::vector<Plan> plans;
      for (int r = 0; r < n; ++r) plans.push_back(build(grid, requests[r], {{"pairwise"}}, r));
      EXPECT_EQ(verify(grid, requests, plans).problem, "") << n;
    }
  }
}

TEST(DocumentedCosts, TheDocumentShowsTheTable) {
  std::ifstream file(TUTTI_SOURCE_DIR "/docs/design/algorithms.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), ::testing::HasSubstr(table_text()));
}

}  // namespace
}  // namespace tutti::plan
