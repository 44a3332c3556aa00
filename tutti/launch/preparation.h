// Everything that is decided before ranks are started.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tutti/launch/checks.h"
#include "tutti/launch/command_line.h"
#include "tutti/launch/launch.h"
#include "tutti/launch/mpi/flavour.h"
#include "tutti/launch/placement.h"
#include "tutti/launch/program.h"

namespace tutti::launch {

// What the command line asks for, before any host was asked.
struct Wishes {
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
Wishes read_wishes(const CommandLine& line, const Own& own);

// What the hosts say. Asks all of them, or with skipchecks only the first, and none where the
// shape comes from a file; all whatever the options say when `everybody` is set. Throws ConfigError
// when a file of a shape cannot be read.
Facts find_facts(const CommandLine& line, const Wishes& wishes, const Own& own, bool everybody);

// Where the ranks go. Throws ConfigError when they do not fit.
Rankfile make_rankfile(const Wishes& wishes, const Facts& facts);

// The shape of the first host that is known. Throws ConfigError when none is.
const topo::Machine& common_machine(const Facts& facts);

}  // namespace tutti::launch
