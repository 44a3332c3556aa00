// List and summaries of the training runs in a directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tutti::runs {

// Subdirectories of `parent` that contain a config.toml, sorted by name; empty if `parent` cannot be read.
std::vector<std::filesystem::path> list_runs(const std::filesystem::path& parent);

struct RunSummary {
  std::int64_t steps = 0;    // 0: none yet; the other members are then meaningless
  double loss = 0;           // at the last step
  bool is_finished = false;  // result.json exists; the following members are set only then
  double samples_per_second = 0;
  std::optional<std::pair<std::string, double>> first_metric = {};  // main metric of the workload
};

// Reads metrics.csv and result.json.
RunSummary summarize(const std::filesystem::path& run);

}  // namespace tutti::runs
