#include "tutti/launch/placement/placement.h"

#include <gmock/gmock.h>

#include "tutti/core/test_error.h"
#include "tutti/os/text_file.h"

namespace tutti::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Host> hosts(int count, int slots = 0) {
  std::vector<Host> all;
  for (int i = 1; i <= count; ++i) all.push_back({"host" + std::to_string(i), slots});
  return all;
}

std::vector<std::string> names_by_rank(const Rankfile& rankfile) {
  std::vector<std::string> names;
  for (const RankSlot& slot : rankfile.ranks) names.push_back(slot.host);
  return names;
}

const std::string kData = TUTTI_LAUNCH_TESTDATA;

TEST(Placement, FourHostsOfFourAcceleratorsAsInDdl) {
  const topo::Machine machine = topo::parse_machine(os::read_text(TUTTI_MACHINE));
  const Rankfile rankfile = place(hosts(4), machine, {});
  EXPECT_EQ(to_text(rankfile), os::read_text(kData + "/four_hosts.rankfile"));
  Rankfile read = parse_rankfile(to_text(rankfile));
  EXPECT_EQ(read, rankfile);
  EXPECT_EQ(complete_mode("p", rankfile), "p:4x4x1x1");
  EXPECT_EQ(host_list_text(rankfile),
            "host1:0,4,8,12;host2:1,5,9,13;host3:2,6,10,14;host4:3,7,11,15");
}

// An algorithm quadratic in the number of hosts would take minutes.
TEST(Placement, TakesManyHosts) {
  const topo::Machine machine = topo::synthetic_machine("pack:2 core:4 pu:1");
  const Rankfile rankfile = place(hosts(60'000), machine, {});
  EXPECT_EQ(rankfile.size(), 480'000);
  EXPECT_EQ(complete_mode("p", rankfile), "p:8x60000x1x1");
  EXPECT_THAT(host_list_text(rankfile), HasSubstr(";host60000:59999,119999,"));
}

TEST(Placement, RefusesMoreRanksThanAJobCanHave) {
  const topo::Machine machine = topo::synthetic_machine("core:1 pu:1");
  EXPECT_THAT(error_of([&] { place(hosts(60'000, 1 << 20), machine, {.oversubscribe = true}); }),
              HasSubstr("DDL-3-09"));
}

TEST(Placement, OneRankPerCoreWithoutAccelerators) {
  const topo::Machine machine = topo::synthetic_machine("pack:2 core:3 pu:2");
  const Rankfile rankfile = place(hosts(1), machine, {});
  ASSERT_EQ(rankfile.size(), 6);
  EXPECT_EQ(rankfile.ranks[2], (RankSlot{"host1", 0, {2}}));
  EXPECT_EQ(rankfile.ranks[3], (RankSlot{"host1", 1, {0}}));
  EXPECT_THAT(to_text(rankfile), HasSubstr("rank 3=host1 slot=1:0-0\n"));
}

TEST(Placement, QuotaAndAllowedCoresCount) {
  topo::Machine machine = topo::synthetic_machine("pack:2 core:4 pu:1");
  machine.allowed_cpus = {0, 1, 5};
  Rankfile rankfile = place(hosts(1), machine, {});
  ASSERT_EQ(rankfile.size(), 3);
  EXPECT_EQ(rankfile.ranks[1], (RankSlot{"host1", 0, {1}}));
  EXPECT_EQ(rankfile.ranks[2], (RankSlot{"host1", 1, {0}}));
  machine.cpu_quota = 1.5;
  EXPECT_EQ(natural_ranks(machine), 1);
  EXPECT_EQ(place(hosts(2), machine, {}).size(), 2);
}

TEST(Placement, OddCountsShareCoresEvenly) {
  const topo::Machine machine = topo::synthetic_machine("pack:2 core:8 pu:1");
  const Rankfile rankfile = place(hosts(1), machine, {.ranks = 3});
  EXPECT_EQ(rankfile.ranks[0].cores, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(rankfile.ranks[1].cores, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(rankfile.ranks[2].socket, 1);
  EXPECT_EQ(rankfile.ranks[2].cores.size(), 8u);
}

TEST(Placement, UnevenHostsAreFilledRoundRobin) {
  const topo::Machine machine = topo::synthetic_machine("pack:1 core:8 pu:1");
  EXPECT_THAT(names_by_rank(place({{"a", 3}, {"b", 1}, {"c", 2}}, machine, {})),
              ElementsAre("a", "b", "c", "a", "c", "a"));
  const Rankfile five = place(hosts(2), machine, {.ranks = 5});
  EXPECT_THAT(names_by_rank(five), ElementsAre("host1", "host2", "host1", "host2", "host1"));
  EXPECT_EQ(complete_mode("b", five), "b");
  EXPECT_THAT(names_by_rank(place({{"a", 1}, {"b", 4}}, machine, {.ranks = 4})),
              ElementsAre("a", "b", "b", "b"));
}

TEST(Placement, FewerRanksThanHostsOmitHosts) {
  const Rankfile two = place(hosts(5), topo::synthetic_machine("core:4 pu:1"), {.ranks = 2});
  EXPECT_THAT(two.hosts, ElementsAre("host1", "host2"));
  EXPECT_EQ(two.nodes, 2);
}

TEST(Placement, RacksAndAisles) {
  const topo::Machine machine = topo::synthetic_machine("core:2 pu:1");
  const Rankfile rankfile = place(hosts(8), machine, {.aisles = 2, .racks = 2});
  EXPECT_EQ(rankfile.nodes, 2);
  EXPECT_EQ(complete_mode("p", rankfile), "p:2x2x2x2");
  for (const Shape& shape : {Shape{.racks = 3}, Shape{.racks = 16}, Shape{.nodes = 3},
                             Shape{.aisles = 2, .racks = 2, .nodes = 4}}) {
    EXPECT_THAT(error_of([&] { place(hosts(8), machine, shape); }), HasSubstr("DDL-3-08"));
  }
}

TEST(Placement, MoreThanAvailable) {
  const topo::Machine machine = topo::synthetic_machine("pack:1 core:2 pu:2");
  const auto trouble = [&](const Shape& shape) {
    return error_of([&] { place(hosts(1), machine, shape); });
  };
  EXPECT_THAT(trouble({.ranks = 3}),
              HasSubstr("DDL-3-09 3 ranks were requested on host1, which has 2 cores"));
  EXPECT_THAT(trouble({.accelerators = 5}), HasSubstr("DDL-3-09"));
  EXPECT_THAT(trouble({.ranks = 2, .cores = 1}), HasSubstr("which has 1 core."));
  EXPECT_THAT(trouble({.sockets = 2}), HasSubstr("DDL-3-12"));
  EXPECT_THAT(trouble({.cores = 3}), HasSubstr("DDL-3-12"));
  const Rankfile shared = place(hosts(1), machine, {.ranks = 5, .oversubscribe = true});
  EXPECT_EQ(shared.size(), 5);
  EXPECT_EQ(shared.ranks[4].cores, (std::vector<int>{0, 1}));

  const topo::Machine power9 = topo::parse_machine(os::read_text(TUTTI_MACHINE));
  EXPECT_THAT(error_of([&] { place(hosts(1), power9, {.accelerators = 5}); }),
              HasSubstr("DDL-3-12 -accelerators 5: a host has only 4"));
  EXPECT_EQ(place(hosts(1), power9, {.accelerators = 2}).ranks[1].cores.front(), 8);
}

TEST(Mode, DimensionsOfTheUserMustFit) {
  const Rankfile rankfile = place(hosts(2), topo::synthetic_machine("core:2 pu:1"), {});
  EXPECT_EQ(complete_mode("b:4", rankfile), "b:4");
  EXPECT_EQ(complete_mode("b,r:2x2", rankfile), "b,r:2x2");
  for (const char* mode : {"p:3x2", "p:", "p:x", "p:2x", "p:0x4", "p:-2x-2", "p:99999999999x4"}) {
    EXPECT_THAT(error_of([&] { complete_mode(mode, rankfile); }), HasSubstr("DDL-3-15")) << mode;
  }
}

}  // namespace
}  // namespace tutti::launch
