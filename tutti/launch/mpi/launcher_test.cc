#include "tutti/launch/mpi/launcher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tutti/os/shell.h"
#include "tutti/os/text_file.h"

namespace tutti::launch {
namespace {

TEST(Mpi, IsRecognisedByItsVersionText) {
  struct Case {
    const char *words, *name, *version;
  };
  for (const Case& one : {
           Case{"mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org", "openmpi",
                "4.1.4"},
           Case{"mpirun (Open MPI) 5.0.3\n", "openmpi", "5.0.3"},
           Case{"mpirun (IBM Spectrum MPI) 10.3.0.01rtm4\n", "spectrum", "10.3.0.01"},
           Case{"HYDRA build details:\n    Version:                 4.0.2\n", "mpich", "4.0.2"},
           Case{"Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307", "mpich",
                "2021.9"},
           Case{"slurm-wlm 22.05.8\n", "srun", "22.05.8"},
       }) {
    const auto mpi = recognise(one.words);
    ASSERT_TRUE(mpi) << one.words;
    EXPECT_EQ(mpi->launcher->name, one.name);
    EXPECT_EQ(mpi->version, one.version);
  }
  EXPECT_FALSE(recognise("mpirun: command not found"));
  EXPECT_FALSE(recognise(""));
}

Start four_hosts() {
  Start start;
  start.ranks = 16;
  for (int i = 1; i <= 4; ++i) start.hosts.push_back({fmt::format("host{}", i), 4});
  start.is_here = false;
  start.rankfile = "/run/RANKFILE";
  start.is_root = true;
  start.has_accelerators = true;
  start.network = "192.0.2.0/24";
  start.interface = "eth0";
  start.exports = {"PATH", "LD_LIBRARY_PATH", "DDL_OPTIONS"};
  start.program = {"python", "train.py"};
  return start;
}

Start shared_and_uneven() {
  Start start = four_hosts();
  start.ranks = 3;
  start.hosts = {{"host1", 2}, {"host2", 1}};
  start.order = {"host1", "host2", "host1"};
  start.is_even = start.is_pinned = start.is_root = false;
  start.tcp = true;
  start.mpi_arguments = {"--verbose"};
  return start;
}

Start one_host() {
  Start start;
  start.ranks = 2;
  start.hosts = {{"host1", 2}};
  start.rankfile = "/run/RANKFILE";
  start.program = {"hello"};
  return start;
}

// Each golden file has one command per line: 16 ranks on 4 hosts as root, 3 unpinned ranks on 2 hosts over TCP, and 2
// ranks on this host.
TEST(Mpi, CommandLinesAreTheGoldenOnes) {
  struct Case {
    const char *file, *launcher, *version, *program, *plugin;
  };
  for (const Case& one :
       {Case{"openmpi4", "openmpi", "4.1.4", "mpirun", ""},
        Case{"openmpi5", "openmpi", "5.0.3", "mpirun", ""},
        Case{"spectrum", "spectrum", "10.3", "mpirun", ""},
        Case{"mpich", "mpich", "4.0.2", "mpiexec.hydra", ""},
        Case{"srun", "srun", "22.05", "srun", "pmix"}, Case{"none", "none", "", "ddlrun", ""}}) {
    const Mpi mpi{&launcher_named(one.launcher), one.version, one.program, one.plugin};
    std::string lines;
    for (const Start& start : {four_hosts(), shared_and_uneven(), one_host()}) {
      if (!mpi.launcher->crosses_hosts && start.hosts.size() > 1) continue;
      lines += os::shell_line(mpi.launcher->command(mpi, start)) + "\n";
    }
    EXPECT_EQ(lines, os::read_text(fmt::format("{}/{}.golden", TUTTI_LAUNCH_TESTDATA, one.file)));
  }
}

TEST(Mpi, ANetworkOfIPv6IsNamedByItsInterface) {
  Start start = four_hosts();
  start.network = "2001:db8::/64";
  const Mpi mpi{&launcher_named("openmpi"), "4.1.4", "mpirun", ""};
  const std::string line = os::shell_line(mpi.launcher->command(mpi, start));
  EXPECT_NE(line.find("btl_tcp_if_include eth0"), std::string::npos) << line;
  EXPECT_EQ(line.find("2001:"), std::string::npos) << line;
}

}  // namespace
}  // namespace tutti::launch
