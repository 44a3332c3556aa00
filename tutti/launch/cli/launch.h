// ddlrun from the words that were typed to the exit code.
#pragma once

#include <functional>
#include <string>

#include "tutti/launch/cli/command_line.h"

namespace tutti::launch {

// How this program was built.
struct BuildInfo {
  std::string program;  // its path
  std::string version;
  std::string built_with;  // MPI: openmpi, mpich
  // Throws ConfigError when the communication library would not take these options.
  std::function<void(const std::string&)> check_ddl_options = [](const std::string&) {};
};

// Finds hosts, MPI and shape, checks, places, and then prints or runs and watches, as the options
// say. Returns the exit code; throws Error when nothing was started. Call it from the main thread.
int launch(const CommandLine& line, const BuildInfo& own);

}  // namespace tutti::launch
