#include "tutti/launch/hosts/hosts.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tutti/core/test_error.h"
#include "tutti/launch/hosts/node_list.h"

namespace tutti::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NodeList, Expands) {
  EXPECT_THAT(expand_node_list("a", ""), ElementsAre("a"));
  EXPECT_THAT(expand_node_list("n[1-3],login", ""), ElementsAre("n1", "n2", "n3", "login"));
  EXPECT_THAT(expand_node_list("n[08-10,3].x", ""), ElementsAre("n08.x", "n09.x", "n10.x", "n3.x"));
  EXPECT_THAT(expand_node_list("r[0-1]n[1-2]", ""), ElementsAre("r0n1", "r0n2", "r1n1", "r1n2"));
}

TEST(NodeList, RejectsInvalidLists) {
  for (const char* text : {"", "a,", ",a", "n[1-3", "n1-3]", "n[3-1]", "n[a-b]", "n[]", "n[1-]",
                           "n[-1]", "a b", "-H", "n[0-99999999]", "n[0-999]m[0-999]", "a;b",
                           "n[0-4294967295]", "n[0-65535,0-65535]", "n[4294967296]"}) {
    EXPECT_THAT(error_of([&] { expand_node_list(text, "X"); }), HasSubstr("DDL-3-05 X: ")) << text;
  }
}

TEST(NodeList, TakesTheLargestNumber) {
  EXPECT_THAT(expand_node_list("n[4294967295]", ""), ElementsAre("n4294967295"));
  EXPECT_THAT(expand_node_list("n[4294967294-4294967295]", ""),
              ElementsAre("n4294967294", "n4294967295"));
}

TEST(NodeList, RejectsInvalidHostNames) {
  EXPECT_THAT(error_of([] { expand_node_list(std::string(254, 'a'), "X"); }),
              HasSubstr("DDL-3-05 X: "));
}

TEST(HostList, IgnoresSpacesAroundCommas) {
  EXPECT_EQ(parse_host_list(" a , b:4,\tc"), (std::vector<Host>{{"a"}, {"b", 4}, {"c"}}));
}

TEST(HostList, TakesUsers) {
  EXPECT_EQ(parse_host_list("alice@a,alice@n[1-2]:2"),
            (std::vector<Host>{{"a", 0, "alice"}, {"n1", 2, "alice"}, {"n2", 2, "alice"}}));
  EXPECT_EQ(common_user(parse_host_list("alice@a,alice@b")), "alice");
  EXPECT_EQ(common_user(parse_host_list("a,b")), "");
  EXPECT_THAT(error_of([] { common_user(parse_host_list("alice@a,b")); }),
              HasSubstr("'alice' on a, '' on b"));
  for (const char* text : {"@a", "-oProxyCommand=x@a", "a@b@c", "al ice@a"}) {
    EXPECT_THAT(error_of([&] { parse_host_list(text); }), HasSubstr("DDL-3-05")) << text;
  }
}

TEST(HostList, TakesAddresses) {
  EXPECT_EQ(parse_host_list("192.0.2.1:2,2001:db8::1,[2001:db8::2]:4,[::1]"),
            (std::vector<Host>{{"192.0.2.1", 2}, {"2001:db8::1"}, {"2001:db8::2", 4}, {"::1"}}));
  for (const char* text : {"[2001:db8::2", "[2001:db8::2]4x", "[2001:db8::2]:0", "2001:db8:::1"}) {
    EXPECT_THAT(error_of([&] { parse_host_list(text); }), HasSubstr("DDL-3-05")) << text;
  }
}

TEST(HostList, AsksWhether22IsAPort) {
  EXPECT_THAT(error_of([] { parse_host_list("a:22"); }), HasSubstr("22 ranks on a"));
  EXPECT_EQ(parse_host_list("a:23"), (std::vector<Host>{{"a", 23}}));
}

TEST(HostList, NamesAndSlots) {
  EXPECT_EQ(parse_host_list("a,b:4"), (std::vector<Host>{{"a", 0}, {"b", 4}}));
  EXPECT_EQ(parse_host_list("n[1-2]:3,c"), (std::vector<Host>{{"n1", 3}, {"n2", 3}, {"c", 0}}));
  EXPECT_THAT(error_of([] { parse_host_list("a,b,a"); }), HasSubstr("DDL-3-06"));
  EXPECT_THAT(error_of([] { parse_host_list("n[1-3],n2"); }), HasSubstr("n2 is listed twice"));
  for (const char* text : {"", "a:", "a:0", "a:-1", "a:x", "a:1:2", "a,,b"}) {
    EXPECT_THAT(error_of([&] { parse_host_list(text); }), HasSubstr("DDL-3-05")) << text;
  }
}

class Files : public testing::Test {
 protected:
  Files() : path_(testing::TempDir() + "launch_hosts_" + std::to_string(getpid())) {}
  ~Files() override { std::filesystem::remove(path_); }
  const std::string& write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  std::string path_;
};

TEST_F(Files, HostfileOfAMillionLinesIsRefused) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += "host" + std::to_string(i) + "\n";
  EXPECT_THAT(error_of([&] { read_hostfile(write(text)); }), HasSubstr("more than 65536 hosts"));
}

TEST_F(Files, Hostfile) {
  const auto hosts =
      read_hostfile(write("# mine\nhost1\n\nhost2 slots=4 max_slots=8\nhost3:2 #x\n"));
  EXPECT_EQ(hosts, (std::vector<Host>{{"host1", 0}, {"host2", 4}, {"host3", 2}}));
  EXPECT_EQ(read_hostfile(write("\xef\xbb\xbfhost1 slots=22\r\n")),
            (std::vector<Host>{{"host1", 22}}));
  EXPECT_THAT(error_of([&] { read_hostfile(write("a\nb\na\n")); }), HasSubstr("DDL-3-06"));
  EXPECT_THAT(error_of([&] { read_hostfile(write("a\nb cores\n")); }),
              HasSubstr("line 2: 'cores'"));
  EXPECT_THAT(error_of([&] { read_hostfile(write("a slots=many\n")); }), HasSubstr("DDL-3-05"));
  EXPECT_THAT(error_of([&] { read_hostfile(write("\n#\n")); }), HasSubstr("has no hosts"));
  EXPECT_THAT(error_of([] { read_hostfile("/nowhere/at/all"); }), HasSubstr("DDL-3-04"));
  EXPECT_THAT(error_of([] { read_hostfile("/tmp"); }), HasSubstr("it is a directory"));
}

std::optional<Allocation> allocation(std::map<std::string, std::string> environment) {
  return find_allocation([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST_F(Files, Allocations) {
  EXPECT_FALSE(allocation({}));
  const auto slurm = allocation({{"SLURM_JOB_NODELIST", "n[1-3]"},
                                 {"SLURM_NTASKS", "11"},
                                 {"SLURM_TASKS_PER_NODE", "4(x2),3"}});
  EXPECT_EQ(slurm->scheduler, "Slurm");
  EXPECT_EQ(slurm->hosts, (std::vector<Host>{{"n1", 4}, {"n2", 4}, {"n3", 3}}));
  EXPECT_EQ(allocation({{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_TASKS_PER_NODE", "1"}})->hosts,
            (std::vector<Host>{{"n1", 0}}));

  const auto lsf = allocation({{"LSB_MCPU_HOSTS", "batch5 1 a 42 b 42"}});
  EXPECT_EQ(lsf->scheduler, "LSF");
  EXPECT_EQ(lsf->hosts, (std::vector<Host>{{"a", 42}, {"b", 42}}));
  EXPECT_EQ(allocation({{"LSB_DJOB_HOSTFILE", write("a\na\nb\na\n")}})->hosts,
            (std::vector<Host>{{"a", 3}, {"b", 1}}));

  const auto pbs = allocation({{"PBS_NODEFILE", write("x\nx\ny\ny\n")}});
  EXPECT_EQ(pbs->scheduler, "PBS");
  EXPECT_EQ(pbs->hosts, (std::vector<Host>{{"x", 2}, {"y", 2}}));
}

TEST_F(Files, AllocationsThatCannotBeRead) {
  const std::map<std::string, std::string> nodes = {{"SLURM_JOB_NODELIST", "n[1-2]"},
                                                    {"SLURM_NTASKS", "2"}};
  for (const char* tasks : {"2", "2(x3)", "2(x", "2(xa)", "a", "-1", "0(x2)"}) {
    auto environment = nodes;
    environment["SLURM_TASKS_PER_NODE"] = tasks;
    EXPECT_THAT(error_of([&] { allocation(environment); }), HasSubstr("DDL-3-07")) << tasks;
  }
  EXPECT_THAT(error_of([] { allocation({{"SLURM_JOB_NODELIST", "n[1-"}}); }),
              HasSubstr("DDL-3-05"));
  EXPECT_THAT(error_of([] { allocation({{"LSB_MCPU_HOSTS", "a 4 b"}}); }), HasSubstr("after b"));
  EXPECT_THAT(error_of([] { allocation({{"LSB_MCPU_HOSTS", "a x"}}); }), HasSubstr("DDL-3-07"));
  EXPECT_THAT(error_of([] { allocation({{"PBS_NODEFILE", "/nowhere"}}); }), HasSubstr("DDL-3-07"));
  EXPECT_THAT(error_of([&] { allocation({{"PBS_NODEFILE", write("")}}); }), HasSubstr("no host"));
}

}  // namespace
}  // namespace tutti::launch
