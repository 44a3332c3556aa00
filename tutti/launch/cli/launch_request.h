// Decisions before ranks are started: hosts, MPI, placement.
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

// The command line, interpreted without asking any host.
struct LaunchRequest {
  std::vector<Host> hosts = {};
  std::string source = {};                // of the hosts: "-H", "Slurm", "this machine"
  bool slots_are_limits = false;          // the scheduler's: cores rather than ranks
  std::optional<Rankfile> rankfile = {};  // the user's
  Shape shape = {};
  std::string mode = "p";
  Program program = {};
  std::optional<Mpi> mpi = {};
  RemoteShell shell = RemoteShell::kSsh;
  std::string path = {};    // PATH
  std::string folder = {};  // in which we are
};
LaunchRequest parse_request(const CommandLine& line, const BuildInfo& own);

// Facts about the hosts. Asks all of them, or with skipchecks only the first, and none where the
// shape comes from a file; all whatever the options say when `everybody` is set. Throws ConfigError
// when a file of a shape cannot be read.
Facts find_facts(const CommandLine& line, const LaunchRequest& request, const BuildInfo& own,
                 bool everybody);

// Where the ranks go. Throws ConfigError when they do not fit.
Rankfile make_rankfile(const LaunchRequest& request, const Facts& facts);

// The shape of the first host that is known. Throws ConfigError when none is.
const topo::Machine& common_machine(const Facts& facts);

}  // namespace tutti::launch
