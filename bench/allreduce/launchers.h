// The command lines that bring up the ranks of one system, at the settings that serve it best;
// bench/README.md lists them with their reasons.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/allreduce/settings.h"
#include "bench/harness/process.h"

namespace tutti::bench {

// What is to be started.
struct LaunchTask {
  const AllreduceSettings& settings;
  std::vector<std::string> worker;  // a rank's program and its arguments
  std::vector<int> cores;           // of this machine, for all ranks together
  std::filesystem::path testbed;    // the script that runs a command on one of its hosts
};

using Launcher = std::vector<ProcessSpec> (*)(const LaunchTask&);

std::vector<ProcessSpec> launch_openmpi(const LaunchTask& task);
// As a user starts it who sets nothing.
std::vector<ProcessSpec> launch_openmpi_plain(const LaunchTask& task);
std::vector<ProcessSpec> launch_mpich(const LaunchTask& task);
// One process per rank, with RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE in the environment.
std::vector<ProcessSpec> launch_directly(const LaunchTask& task);
// The same, with the name or address of the rank's own host as last argument.
std::vector<ProcessSpec> launch_gloo(const LaunchTask& task);

// The MPIs once more, with a C library that keeps memory instead of giving it back.
std::vector<ProcessSpec> launch_openmpi_tuned(const LaunchTask& task);
std::vector<ProcessSpec> launch_mpich_tuned(const LaunchTask& task);

}  // namespace tutti::bench
