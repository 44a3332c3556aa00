#include "tutti/runs/run_index.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tutti/runs/schema.h"
#include "tutti/runs/training_log.h"

namespace tutti::runs {

namespace fs = std::filesystem;

std::vector<fs::path> list_runs(const fs::path& parent) {
  std::vector<fs::path> runs;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored))
    if (fs::exists(entry.path() / kConfigFile)) runs.push_back(entry.path());
  std::sort(runs.begin(), runs.end());
  return runs;
}

RunSummary summarize(const fs::path& run) {
  RunSummary summary;
  const auto metrics = read_metrics(run);
  const auto steps = metrics.find("step");
  if (steps == metrics.end() || steps->second.empty()) return summary;
  summary.steps = static_cast<std::int64_t>(steps->second.back());
  summary.loss = metrics.at("loss").back();
  std::ifstream file(run / kResultFile);
  // ordered_json keeps the order of the file: the first metric is the main one.
  const auto result = nlohmann::ordered_json::parse(file, nullptr, false);
  summary.is_finished = !result.is_discarded();
  if (!summary.is_finished) return summary;
  summary.samples_per_second = result.value("samples_per_second", 0.0);
  const auto all = result.value("metrics", nlohmann::ordered_json::object());
  if (!all.empty())
    summary.first_metric.emplace(all.begin().key(), all.begin().value().get<double>());
  return summary;
}

}  // namespace tutti::runs
