// Entry point of ddlrun: from the parsed command line to the exit code.
#pragma once

#include <functional>
#include <string>

#include "tutti/launch/cli/command_line.h"

namespace tutti::launch {

// Build configuration of this program.
struct BuildInfo {
  std::string program;  // path of the executable
  std::string version;
  std::string built_with;  // MPI implementation: openmpi, mpich
  // Throws ConfigError if the communication library rejects these options.
  std::function<void(const std::string&)> check_ddl_options = [](const std::string&) {};
};

// Determines hosts, MPI and placement, runs the checks, and then prints or runs and supervises the job, depending on
// the options. Returns the exit code; throws Error if nothing was started. Call it from the main thread.
int launch(const CommandLine& line, const BuildInfo& own);

}  // namespace tutti::launch
