// Systems of the all-reduce benchmark.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/allreduce/settings.h"
#include "bench/harness/process.h"

namespace tutti::bench {

// Valid values of --baselines, and its default.
std::vector<std::string> baseline_names();
std::vector<std::string> default_baselines();

// Commands that start the workers of one system, or the reason why it is skipped.
struct Launch {
  std::vector<ProcessSpec> processes;
  std::string why_skipped;  // empty: can be started
};

// `system` is "tutti", "traffic" or a baseline; `folder` is the directory for its pipes. Throws ConfigError for a name
// that is none of these.
Launch launch_of(const std::string& system, const AllreduceSettings& settings,
                 const std::filesystem::path& folder);

// One line for the rows: the settings of this system.
std::string settings_note(const std::string& system);

}  // namespace tutti::bench
