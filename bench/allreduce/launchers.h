// Command lines that start the ranks of each system with its best settings; bench/README.md lists the settings and the
// reasons.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/allreduce/settings.h"
#include "bench/harness/process.h"

namespace tutti::bench {

// Parameters of a launch.
struct LaunchTask {
  const AllreduceSettings& settings;
  std::vector<std::string> worker;  // program of a rank and its arguments
  std::vector<int> cores;           // cores of this machine for all ranks together
  std::filesystem::path testbed;    // script that runs a command on a host of the testbed
};

using Launcher = std::vector<ProcessSpec> (*)(const LaunchTask&);

std::vector<ProcessSpec> launch_openmpi(const LaunchTask& task);
// With default settings.
std::vector<ProcessSpec> launch_openmpi_plain(const LaunchTask& task);
std::vector<ProcessSpec> launch_mpich(const LaunchTask& task);
// One process per rank, with RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE in the environment.
std::vector<ProcessSpec> launch_directly(const LaunchTask& task);
// The same, with the name or address of the rank's host as last argument.
std::vector<ProcessSpec> launch_gloo(const LaunchTask& task);

// The same MPIs with malloc settings that keep freed memory.
std::vector<ProcessSpec> launch_openmpi_tuned(const LaunchTask& task);
std::vector<ProcessSpec> launch_mpich_tuned(const LaunchTask& task);

}  // namespace tutti::bench
