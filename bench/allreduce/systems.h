// Systems of the all-reduce benchmark.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/allreduce/settings.h"
#include "bench/harness/process.h"

namespace tutti::bench {

// Valid values of --baselines, and its default.
std::vector<std::string> peer_names();
std::vector<std::string> default_peers();

// Commands that start the workers of one system, or the reason why it is skipped.
struct Launch {
  std::vector<ProcessSpec> processes;
  std::string why_skipped;  // empty: can be started
};

// `system` is "tutti", "traffic" or a peer; `folder` is where its pipes will be.
// Throws ConfigError for a name that is none of these.
Launch launch_of(const std::string& system, const AllreduceSettings& settings,
                 const std::filesystem::path& folder);

// One line: what was set for this system, for the rows.
std::string settings_note(const std::string& system);

}  // namespace tutti::bench
