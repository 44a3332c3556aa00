#include "tutti/launch/placement/rankfile.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tutti/core/test_error.h"

namespace tutti::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Rankfile, ReadsFilesOfOtherTools) {
  const Rankfile read = parse_rankfile(
      "# by hand\n#nodes = 2\nrank 1=b slot=0-3\n rank 0=a slot=1:*\nrank 2=a slot=0:3,1\n");
  EXPECT_EQ(read.nodes, 2);
  EXPECT_THAT(read.hosts, ElementsAre("b", "a"));
  EXPECT_EQ(read.ranks[0], (RankSlot{"a", 1, {}}));
  EXPECT_EQ(read.ranks[1], (RankSlot{"b", -1, {0, 1, 2, 3}}));
  EXPECT_EQ(read.ranks[2], (RankSlot{"a", 0, {1, 3}}));
  EXPECT_THAT(read.ranks_per_host(), ElementsAre(1, 2));
  EXPECT_FALSE(read.is_even());
  EXPECT_EQ(parse_rankfile(to_text(read)).ranks, read.ranks);
}

TEST(Rankfile, ErrorsAreExplained) {
  const auto trouble = [](const std::string& text) {
    return error_of([&] { parse_rankfile(text, "mine"); });
  };
  EXPECT_THAT(trouble(""), HasSubstr("DDL-3-10 mine has no ranks"));
  EXPECT_THAT(trouble("rank 0=a slot=0:0\nrank 0=b slot=0:0\n"),
              HasSubstr("line 2: rank 0 is listed twice"));
  EXPECT_THAT(trouble("rank 0=a slot=0:0\nrank 2=a slot=0:1\n"), HasSubstr("rank 1 is missing"));
  for (const char* line :
       {"rank 0=a", "rank=a slot=0", "rank x=a slot=0", "rank 0= slot=0",
        "rank 0=a slot=", "rank 0=a slot=0:3-1", "rank 0=a slot=a:1", "rank 0=a slot=0 more",
        "0=a slot=1", "rank 0,1=a slot=0", "rank 99999999=a slot=0", "#cores = many"}) {
    EXPECT_THAT(trouble(line), HasSubstr("DDL-3-10 mine line 1")) << line;
  }
  EXPECT_THAT(error_of([] { read_rankfile("/nowhere"); }), HasSubstr("DDL-3-10"));
}

// An algorithm quadratic in the number of hosts would take minutes.
TEST(Rankfile, TakesManyHosts) {
  Rankfile file;
  constexpr int kHosts = 60'000;
  for (int i = 0; i < kHosts; ++i) file.hosts.push_back("host" + std::to_string(i));
  for (const std::string& host : file.hosts) file.ranks.push_back({host, 0, {0}});
  EXPECT_TRUE(file.is_even());
  EXPECT_EQ(parse_rankfile(to_text(file)).hosts, file.hosts);
}

TEST(Rankfile, IgnoresAByteOrderMark) {
  const std::string path = testing::TempDir() + "launch_bom_" + std::to_string(getpid());
  std::ofstream(path) << "\xef\xbb\xbfrank 0=a slot=0:0\n";
  EXPECT_EQ(read_rankfile(path).size(), 1);
  std::remove(path.c_str());
}

TEST(Rankfile, MustFitTheHosts) {
  topo::Machine machine = topo::synthetic_machine("pack:2 core:4 pu:2");
  const Rankfile file = parse_rankfile("rank 0=a slot=1:0-3\nrank 1=b slot=1:4\nrank 2=a slot=7\n");
  EXPECT_EQ(error_of([&] { check_fit(file, std::vector{0, 2}, machine); }), "");
  EXPECT_THAT(
      error_of([&] { check_fit(file, std::vector{1}, machine); }),
      HasSubstr("DDL-3-11 Rank 1 is to run on slot=1:4-4 of b, which has 4 cores on socket 1"));
  EXPECT_THAT(cpus_of(file.ranks[0], machine), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(cpus_of(file.ranks[2], machine), ElementsAre(14, 15));
  EXPECT_EQ(cpus_of({"a", 0, {}}, machine).size(), 8u);

  // A container that may use only some logical CPUs: cores are numbered among those.
  machine.allowed_cpus = {2, 10, 12, 13};
  EXPECT_THAT(error_of([&] { check_fit(file, std::vector{0, 2}, machine); }),
              HasSubstr("2 cores on socket 1"));
  EXPECT_THAT(cpus_of({"a", 1, {1}}, machine), ElementsAre(12, 13));
}

}  // namespace
}  // namespace tutti::launch
