#include "tutti/launch/probe/checks.h"

#include <gmock/gmock.h>

#include <set>

namespace tutti::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two hosts without any problem.
Facts good_facts() {
  Facts facts{.version = "1.0", .mpi = "Open MPI 4.1.4", .folder = "/home/me", .program = "train"};
  for (const char* name : {"host1", "host2"}) {
    Report report{.name = name,
                  .identity = name,
                  .version = "1.0",
                  .mpi = "Open MPI 4.1.4",
                  .machine = topo::synthetic_machine("pack:1 core:4 pu:1"),
                  .shared_memory = std::int64_t{8} << 30,
                  .temporary_folder = "/tmp",
                  .temporary_space = std::int64_t{8} << 30,
                  .program = "/bin/train",
                  .free_port = 4000};
    for (const char* peer : {"host1", "host2"}) {
      report.routes[peer] = {"192.0.2.9", "192.0.2.8", "eth0", "192.0.2.0/24"};
    }
    facts.hosts.push_back({.name = name, .report = report});
    facts.rankfile.hosts.push_back(name);
    for (int core = 0; core < 4; ++core) facts.rankfile.ranks.push_back({name, 0, {core}});
  }
  facts.matrix = Matrix({"host1", "host2"});
  return facts;
}

std::vector<std::string> codes(const Facts& facts) {
  std::vector<std::string> all;
  for (const CheckResult& result : run_checks(facts)) {
    for (const Finding& finding : result.findings) all.push_back(finding.code);
  }
  return all;
}

TEST(Checks, NothingIsFoundWhereNothingIsWrong) {
  EXPECT_THAT(codes(good_facts()), IsEmpty());
  EXPECT_FALSE(has_errors(run_checks(good_facts())));
  EXPECT_THAT(codes(Facts{}), IsEmpty());
}

TEST(Checks, FreeSpaceOfEveryHostIsShown) {
  const std::string table = render_space(good_facts());
  EXPECT_THAT(table, HasSubstr("host1                           8192            8192  /tmp\n"));
  EXPECT_THAT(table, HasSubstr("host2 "));
}

TEST(Checks, CodesAreUnique) {
  std::set<std::string> seen;
  for (const Check& check : checks()) EXPECT_TRUE(seen.insert(check.code).second) << check.code;
}

struct Fault {
  const char* code;
  const char* words;
  bool forbids;
  void (*make)(Facts&);
};

class Faults : public testing::TestWithParam<Fault> {};

TEST_P(Faults, IsFoundAndNamesTheHost) {
  Facts facts = good_facts();
  GetParam().make(facts);
  EXPECT_THAT(codes(facts), ElementsAre(GetParam().code));
  EXPECT_EQ(has_errors(run_checks(facts)), GetParam().forbids);
  const std::string text = render(run_checks(facts), false);
  EXPECT_THAT(text, HasSubstr("host2"));
  EXPECT_THAT(text, HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    testing::Values(
        Fault{"DDL-3-22", "ssh-copy-id", true,
              [](Facts& facts) {
                facts.hosts[1].report.reset();
                facts.hosts[1].failure = {"DDL-3-22", "host2 ... ssh-copy-id host2"};
              }},
        Fault{"DDL-3-06", "host1 and host2 are one host", true,
              [](Facts& facts) { facts.hosts[1].report->identity = "host1"; }},
        Fault{"DDL-3-25", "has Tutti 0.9, this machine 1.0", true,
              [](Facts& facts) { facts.hosts[1].report->version = "0.9"; }},
        Fault{"DDL-3-26", "has Open MPI 5.0.1, this machine Open MPI 4.1.4", true,
              [](Facts& facts) { facts.hosts[1].report->mpi = "Open MPI 5.0.1"; }},
        Fault{"DDL-3-26", "no MPI", true, [](Facts& facts) { facts.hosts[1].report->mpi.clear(); }},
        Fault{"DDL-3-27", "no program train", true,
              [](Facts& facts) { facts.hosts[1].report->program.clear(); }},
        Fault{"DDL-3-27", "no file a.py", true,
              [](Facts& facts) { facts.hosts[1].report->missing_files = {"a.py"}; }},
        Fault{"DDL-3-28", "no directory /home/me", true,
              [](Facts& facts) { facts.hosts[1].report->has_folder = false; }},
        Fault{"DDL-3-29", "host2 differs from host1", true,
              [](Facts& facts) {
                facts.hosts[1].report->machine = topo::synthetic_machine("pack:2 core:4 pu:1");
              }},
        Fault{"DDL-3-30", "is 90.0 s behind", false,
              [](Facts& facts) { facts.hosts[1].clock_ahead = -90; }},
        Fault{"DDL-3-31", "64 MiB free in /dev/shm for 4 ranks", false,
              [](Facts& facts) { facts.hosts[1].report->shared_memory = 64 << 20; }},
        Fault{"DDL-3-37", "host2 has 2.0 MiB free in /tmp", false,
              [](Facts& facts) { facts.hosts[1].report->temporary_space = 2 << 20; }},
        Fault{"DDL-3-32", "no free port", true,
              [](Facts& facts) { facts.hosts[1].report->free_port = 0; }},
        Fault{"DDL-3-33", "cannot resolve the name host1", true,
              [](Facts& facts) { facts.hosts[1].report->routes["host1"] = {}; }},
        Fault{"DDL-3-33", "no route to host1", true,
              [](Facts& facts) { facts.hosts[1].report->routes["host1"] = {"127.0.1.1"}; }},
        Fault{"DDL-3-34", "host1 to host2: no connection (refused)", true,
              [](Facts& facts) { facts.matrix.links[0][1].error = "refused"; }},
        Fault{"DDL-3-35", "host2 to host1: 8 Mbit/s", false, [](Facts& facts) {
                facts.matrix.links[0][1].bandwidth = 100e6;
                facts.matrix.links[1][0].bandwidth = 1e6;
              }}));

TEST(Checks, ARequestedPortThatIsBusyIsNamed) {
  Facts facts = good_facts();
  facts.port = 29500;
  facts.hosts[0].report->port_is_busy = true;
  EXPECT_THAT(render(run_checks(facts), false), HasSubstr("Port 29500 (MASTER_PORT) of host1"));
}

TEST(Checks, ShapesMayDifferIfTheUserPlacesTheRanks) {
  Facts facts = good_facts();
  facts.hosts[1].report->machine = topo::synthetic_machine("pack:2 core:4 pu:1");
  facts.shapes_may_differ = true;
  EXPECT_THAT(codes(facts), IsEmpty());
}

TEST(Checks, SpeedsThatWereNotMeasuredAreNotReportedAsGood) {
  Facts facts = good_facts();
  for (auto& row : facts.matrix.links) std::ranges::fill(row, LinkSpeed());
  EXPECT_THAT(render(run_checks(facts), true), HasSubstr("-       DDL-3-35"));
  facts.matrix.links[0][1].bandwidth = facts.matrix.links[1][0].bandwidth = 1e8;
  EXPECT_THAT(render(run_checks(facts), true), HasSubstr("ok      DDL-3-35"));
}

TEST(Checks, TheReportHasALinePerCheck) {
  const std::string text = render(run_checks(good_facts()), true);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<long>(checks().size()));
  EXPECT_EQ(render(run_checks(good_facts()), false), "");
}

}  // namespace
}  // namespace tutti::launch
