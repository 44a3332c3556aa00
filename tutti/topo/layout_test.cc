#include "tutti/topo/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/test_error.h"

namespace tutti::topo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HostIdentity on(const std::string& machine, int socket = -1) {
  return {.name = "host-" + machine,
          .boot_id = machine,
          .network_namespace = "",
          .pid_namespace = "",
          .host_id = "",
          .socket = socket};
}

const Maps kAlways = [](int, int) { return true; };

TEST(MakeLayout, GroupsByMachineForAnyMapping) {
  const Layout round_robin =
      make_layout({on("a"), on("b"), on("c"), on("a"), on("b"), on("c"), on("a")}, kAlways);
  ASSERT_EQ(round_robin.hosts.size(), 3u);
  EXPECT_EQ(round_robin.hosts[0].name, "host-a");
  EXPECT_THAT(round_robin.hosts[0].ranks, ElementsAre(0, 3, 6));
  EXPECT_THAT(round_robin.hosts[1].ranks, ElementsAre(1, 4));
  EXPECT_EQ(round_robin.size(), 7);
  EXPECT_NO_THROW(check(round_robin));
}

TEST(MakeLayout, MappedMemoryDecides) {
  const std::vector<HostIdentity> one_machine(4, on("a"));
  EXPECT_EQ(make_layout(one_machine, [](int, int) { return false; }).hosts.size(), 4u);
  // Two containers: even and odd ranks.
  const Layout halves = make_layout(one_machine, [](int a, int b) { return a % 2 == b % 2; });
  ASSERT_EQ(halves.hosts.size(), 2u);
  EXPECT_THAT(halves.hosts[1].ranks, ElementsAre(1, 3));
  // Mapping in one direction is not sharing, and neither is a chain 0-1-2 whose ends do not map each other.
  EXPECT_EQ(make_layout({on("a"), on("a")}, [](int a, int b) { return a < b; }).hosts.size(), 2u);
  const Layout chain = make_layout(std::vector<HostIdentity>(3, on("a")),
                                   [](int a, int b) { return std::abs(a - b) == 1; });
  ASSERT_EQ(chain.hosts.size(), 2u);
  EXPECT_THAT(chain.hosts[0].ranks, ElementsAre(0, 1));
}

TEST(MakeLayout, SocketsAreKnownForAllRanksOfAHostOrForNone) {
  const Layout layout = make_layout({on("a", 0), on("a", 1), on("b", 0), on("b", -1)}, kAlways);
  EXPECT_THAT(layout.hosts[0].sockets, ElementsAre(0, 1));
  EXPECT_TRUE(layout.hosts[1].sockets.empty());
}

TEST(Layout, ProblemsAreNamed) {
  const auto problem = [](const Layout& layout) { return message_of([&] { check(layout); }); };
  EXPECT_THAT(problem({}), HasSubstr("no hosts"));
  EXPECT_THAT(problem({{{"a", {}}}}), HasSubstr("Host a has no ranks"));
  EXPECT_THAT(problem({{{"a", {0}}, {"b", {0}}}}),
              HasSubstr("Rank 0 is listed twice, on a and on b"));
  EXPECT_THAT(problem({{{"a", {0, 2}}}}), HasSubstr("must be 0 to 1"));
  EXPECT_THAT(problem({{{"a", {0, 1}, {0}}}}), HasSubstr("one socket per rank"));
}

}  // namespace
}  // namespace tutti::topo
