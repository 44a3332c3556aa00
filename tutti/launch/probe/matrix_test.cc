#include "tutti/launch/probe/matrix.h"

#include <gmock/gmock.h>

#include <set>

namespace tutti::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Tournament, EveryPairMeetsOnce) {
  for (int count = 0; count <= 9; ++count) {
    std::set<std::pair<int, int>> met;
    const std::vector<Round> rounds = round_robin_schedule(count);
    EXPECT_EQ(static_cast<int>(rounds.size()), count < 2 ? 0 : count - 1 + count % 2);
    for (const Round& round : rounds) {
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_TRUE(met.insert({a, b}).second);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second);
      }
    }
    EXPECT_EQ(static_cast<int>(met.size()), count * (count - 1) / 2);
  }
}

TEST(Ring, EveryRankMeetsItsNeighbours) {
  for (int count = 4; count <= 9; ++count) {
    std::set<std::pair<int, int>> met;
    for (const Round& round : ring(count)) {
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        met.insert({a, b});
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second);
      }
    }
    EXPECT_EQ(static_cast<int>(met.size()), count);
    for (int i = 0; i + 1 < count; ++i) EXPECT_TRUE(met.contains({i, i + 1}));
    EXPECT_TRUE(met.contains({0, count - 1}));
  }
}

Matrix even_matrix(int count, double bandwidth = 125e6) {
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back("host" + std::to_string(i));
  Matrix matrix(names);
  for (auto& row : matrix.links) {
    for (LinkSpeed& link : row) link = {50e-6, bandwidth, ""};
  }
  return matrix;
}

TEST(SlowLinks, NoneWhereAllAreAlike) {
  EXPECT_THAT(find_slow_links(even_matrix(4)), IsEmpty());
  EXPECT_THAT(find_slow_links(even_matrix(1)), IsEmpty());
  EXPECT_THAT(find_slow_links(even_matrix(0)), IsEmpty());
  EXPECT_THAT(find_slow_links(even_matrix(3, 0)), IsEmpty());  // not measured
}

TEST(SlowLinks, OneLinkIsNamed) {
  Matrix matrix = even_matrix(4);
  matrix.links[1][3].bandwidth = 10e6;
  EXPECT_THAT(find_slow_links(matrix),
              ElementsAre("host2 to host4: 80 Mbit/s, where good links have 1000"));
}

TEST(SlowLinks, AHostWithASlowCableIsNamedOnce) {
  for (const int count : {3, 4, 7}) {
    Matrix matrix = even_matrix(count);
    for (int i = 0; i < count; ++i)
      matrix.links[2][i].bandwidth = matrix.links[i][2].bandwidth = 12.5e6;
    EXPECT_THAT(
        find_slow_links(matrix),
        ElementsAre("host3 to every host, both ways: 100 Mbit/s, where good links have 1000"));
  }
  Matrix matrix = even_matrix(3);
  for (int i = 0; i < 3; ++i) matrix.links[i][0].bandwidth = 5e6;
  EXPECT_THAT(find_slow_links(matrix),
              ElementsAre("every host to host1: 40 Mbit/s, where good links have 1000"));
}

TEST(SlowLinks, TwoHostsAreComparedByDirection) {
  Matrix matrix = even_matrix(2);
  EXPECT_THAT(find_slow_links(matrix), IsEmpty());
  matrix.links[1][0].bandwidth = 1e6;
  EXPECT_THAT(find_slow_links(matrix), ElementsAre(HasSubstr("host2 to host1: 8 Mbit/s")));
}

TEST(DeadLinks, AreNamed) {
  Matrix matrix = even_matrix(4);
  EXPECT_THAT(find_dead_links(matrix), IsEmpty());
  matrix.links[0][1].error = "Connection refused";
  for (int i = 0; i < 4; ++i) matrix.links[i][2].error = "No route to host";
  EXPECT_THAT(find_dead_links(matrix),
              ElementsAre("every host to host3: no connection (No route to host)",
                          "host1 to host2: no connection (Connection refused)"));
  EXPECT_THAT(render(matrix), HasSubstr("dead"));
}

TEST(Matrix, IsRenderedFromLeftToTop) {
  Matrix matrix = even_matrix(2);
  matrix.links[0][1] = {100e-6, 25e6, ""};
  EXPECT_EQ(render(matrix),
            "bandwidth, Mbit/s\nfrom \\ to      host1      host2\n    host1          -        200\n"
            "    host2       1000          -\n"
            "latency, microseconds\nfrom \\ to      host1      host2\n"
            "    host1          -        100\n    host2         50          -\n");
}

}  // namespace
}  // namespace tutti::launch
