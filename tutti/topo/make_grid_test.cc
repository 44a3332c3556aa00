#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tutti/core/error.h"
#include "tutti/core/test_error.h"
#include "tutti/topo/layout.h"

namespace tutti::topo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Mapping of the PowerAI example rankfile: rank = accelerator x hosts + host.
Layout round_robin(int hosts, int per_host) {
  Layout layout;
  for (int h = 0; h < hosts; ++h) {
    Host& host = layout.hosts.emplace_back(Host{"host" + std::to_string(h + 1), {}});
    for (int a = 0; a < per_host; ++a) host.ranks.push_back(a * hosts + h);
  }
  return layout;
}

std::vector<bool> mapped(const Grid& grid) {
  std::vector<bool> flags;
  for (const Dimension& dimension : grid.dimensions) flags.push_back(dimension.mapped);
  return flags;
}

TEST(MakeGrid, AutomaticFollowsTheHosts) {
  const Grid grid = make_grid(round_robin(4, 4));
  EXPECT_EQ(shape_of(grid), "4x4x1x1");
  EXPECT_EQ(grid.dimensions[1].name, "node");
  EXPECT_THAT(groups(grid, 0)[0], ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(groups(grid, 1)[0], ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(mapped(grid), ElementsAre(true, false, true, true));
  EXPECT_EQ(grid.dimensions[0].link.latency, LinkTable().memory.latency);
  EXPECT_EQ(grid.dimensions[1].link.latency, LinkTable().node.latency);
}

TEST(MakeGrid, RacksAndAisles) {
  const Grid grid = make_grid(round_robin(12, 2), parse_dimensions("2x2x3x2"));
  EXPECT_EQ(shape_of(grid), "2x2x3x2");
  EXPECT_EQ(grid.dimensions[3].link.latency, LinkTable().aisle.latency);
}

TEST(MakeGrid, SizesThatDoNotFollowTheHostsStillWork) {
  const Grid one_host = make_grid(round_robin(1, 8), parse_dimensions("2x2x2"));
  EXPECT_THAT(mapped(one_host), ElementsAre(true, true, true));
  EXPECT_THAT(groups(one_host, 2)[0], ElementsAre(0, 4));
  EXPECT_THAT(mapped(make_grid(round_robin(2, 4), parse_dimensions("2x2x2x1"))),
              ElementsAre(true, true, false, true));
  EXPECT_THAT(mapped(make_grid(round_robin(4, 2), parse_dimensions("4x2"))),
              ElementsAre(false, false));
  const Grid flat = make_grid(round_robin(2, 3), parse_dimensions("6"));
  EXPECT_THAT(mapped(flat), ElementsAre(false));
  EXPECT_EQ(flat.dimensions[0].link.latency, LinkTable().node.latency);
}

TEST(MakeGrid, OneRankAndPrimeCounts) {
  EXPECT_EQ(shape_of(make_grid(round_robin(1, 1))), "1x1x1x1");
  EXPECT_EQ(shape_of(make_grid(round_robin(1, 1), parse_dimensions("1"))), "1");
  EXPECT_EQ(shape_of(make_grid(round_robin(7, 1))), "1x7x1x1");
  EXPECT_EQ(shape_of(make_grid(round_robin(1, 13))), "13x1x1x1");
}

TEST(MakeGrid, UnevenHosts) {
  const Layout layout = {{{"a", {0, 1, 2}}, {"b", {3}}, {"c", {4, 5}}, {"d", {6}}}};
  const Grid grid = make_grid(layout);
  EXPECT_EQ(shape_of(grid), "*x4x1x1");
  EXPECT_THAT(mapped(grid), ElementsAre(true, false, true, true));
  const Grid given = make_grid(layout, parse_dimensions("7x1x1x1"));
  EXPECT_THAT(given.ranks, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_FALSE(given.dimensions[0].mapped);
}

TEST(MakeGrid, EveryRankIsInOneGroupOfEveryDimension) {
  for (const char* sizes : {"12", "3x4", "2x3x2", "1x12x1x1", "2x2x3x1x1"}) {
    const Grid grid = make_grid(round_robin(3, 4), parse_dimensions(sizes));
    for (int d = 0; d < static_cast<int>(grid.dimensions.size()); ++d) {
      std::vector<int> seen;
      for (const auto& group : groups(grid, d)) {
        EXPECT_EQ(static_cast<int>(group.size()),
                  grid.dimensions[static_cast<std::size_t>(d)].size);
        seen.insert(seen.end(), group.begin(), group.end());
      }
      std::ranges::sort(seen);
      for (int rank = 0; rank < 12; ++rank) EXPECT_EQ(seen[static_cast<std::size_t>(rank)], rank);
    }
  }
}

TEST(MakeGrid, SocketsMakeADimension) {
  const Layout layout = {{{"a", {0, 1, 2, 3}, {0, 1, 0, 1}}, {"b", {4, 5, 6, 7}, {0, 0, 1, 1}}}};
  const Grid grid = make_grid(layout, parse_dimensions("2x2x2x1x1"));
  EXPECT_EQ(shape_of(grid), "2x2x2x1x1");
  EXPECT_THAT(grid.hosts[0], ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(mapped(grid), ElementsAre(true, true, false, true, true));
  EXPECT_EQ(grid.dimensions[1].link.latency, LinkTable().socket.latency);
}

TEST(MakeGrid, AWrongProductNamesValidDimensions) {
  const auto wrong = [](const Layout& layout, const char* sizes) {
    return message_of([&] { make_grid(layout, parse_dimensions(sizes)); });
  };
  EXPECT_EQ(wrong(round_robin(4, 2), "2x3x1x1"),
            "DDL-2-01 The dimensions 2x3x1x1 make 6 ranks but the job has 8. "
            "Write for example -mode p:2x4x1x1.");
  EXPECT_THAT(wrong(round_robin(4, 2), "9"), HasSubstr("-mode p:8."));
  EXPECT_THAT(wrong(round_robin(4, 2), "1x1x1"),
              HasSubstr("make 1 rank but the job has 8. Write for example -mode p:2x4x1."));
  EXPECT_THAT(wrong(round_robin(4, 2), "2x2x3x1x1"), HasSubstr("p:2x1x4x1x1."));
  EXPECT_THAT(wrong({{{"a", {0, 1}}, {"b", {2}}}}, "2x2x1x1"), HasSubstr("p:3x1x1x1."));
  EXPECT_THAT(wrong(round_robin(1, 2), "16777216x16777216x16777216x16777216"),
              HasSubstr("DDL-2-01"));
  EXPECT_THROW(make_grid(round_robin(1, 4), {.sizes = {-2, -2}}), ConfigError);
}

TEST(ParseDimensions, AcceptsOneToFiveNumbers) {
  EXPECT_THAT(parse_dimensions("2x4x1x1").sizes, ElementsAre(2, 4, 1, 1));
  EXPECT_TRUE(parse_dimensions("").sizes.empty());
  for (const char* bad :
       {"x", "2x", "x2", "2x0x1", "-1", "2x2x2x2x2x2", "2 x 2", "2X2", "a", "99999999999"}) {
    EXPECT_THAT(message_of([&] { parse_dimensions(bad); }), HasSubstr("DDL-2-02")) << bad;
  }
}

TEST(MakeGrid, MeasuredLinksReplaceTheDefaults) {
  LinkTable links;
  links.node = {5e-6, 1 / 20e9};
  EXPECT_EQ(make_grid(round_robin(2, 1), {}, links).dimensions[1].link.latency, 5e-6);
}

}  // namespace
}  // namespace tutti::topo
