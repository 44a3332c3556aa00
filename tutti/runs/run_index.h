// The training runs of a directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tutti::runs {

// Directories below `parent` with a config.toml, sorted by name.
std::vector<std::filesystem::path> list_runs(const std::filesystem::path& parent);

struct RunSummary {
  std::int64_t steps = 0;  // 0: none yet; then the other members have no meaning
  double loss = 0;         // of the last step
  bool is_finished = false;
  double samples_per_second = 0;                                    // of a finished run
  std::optional<std::pair<std::string, double>> first_metric = {};  // the one that counts
};

// Reads metrics.csv and result.json.
RunSummary summarize(const std::filesystem::path& run);

}  // namespace tutti::runs
