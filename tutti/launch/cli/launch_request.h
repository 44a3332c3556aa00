// Interpretation of the command line: hosts, MPI and placement.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tutti/launch/cli/command_line.h"
#include "tutti/launch/cli/launch.h"
#include "tutti/launch/cli/program.h"
#include "tutti/launch/mpi/launcher.h"
#include "tutti/launch/placement/placement.h"
#include "tutti/launch/probe/checks.h"

namespace tutti::launch {

// Result of interpreting the command line, without contacting any host.
struct LaunchRequest {
  std::vector<Host> hosts = {};
  std::string source = {};                // origin of the hosts: "-H", "Slurm", "this machine"
  bool slots_are_limits = false;          // the scheduler counts cores instead of ranks
  std::optional<Rankfile> rankfile = {};  // given by the user
  Shape shape = {};
  std::string mode = "p";
  Program program = {};
  std::optional<Mpi> mpi = {};
  RemoteShell shell = RemoteShell::kSsh;
  std::string path = {};    // PATH
  std::string folder = {};  // working directory
};
LaunchRequest parse_request(const CommandLine& line, const BuildInfo& own);

// Collects facts about the hosts. Probes all of them; with skipchecks only the first, and none if the topology comes
// from a file. With `probes_all` it probes all hosts in any case. Throws ConfigError if a topology file cannot be read.
Facts find_facts(const CommandLine& line, const LaunchRequest& request, const BuildInfo& own,
                 bool probes_all);

// Places the ranks. Throws ConfigError if they do not fit.
Rankfile make_rankfile(const LaunchRequest& request, const Facts& facts);

// Topology of the first host whose topology is known. Throws ConfigError if none is.
const topo::Machine& common_machine(const Facts& facts);

}  // namespace tutti::launch
