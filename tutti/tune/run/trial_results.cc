#include "tutti/tune/run/trial_results.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tutti/os/text_file.h"
#include "tutti/runs/csv_file.h"
#include "tutti/runs/schema.h"

namespace tutti::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLineBytes = 1 << 20;  // longer lines of output are not results

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '/' ||
         c == '.';
}

// The number after "name=" or "name: " in `line`.
std::optional<double> value_after(const std::string& line, const std::string& name) {
  for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
    std::size_t end = at + name.size();
    if (at > 0 && is_word(line[at - 1])) continue;
    while (end < line.size() && line[end] == ' ') ++end;
    if (end >= line.size() || (line[end] != '=' && line[end] != ':')) continue;
    ++end;
    while (end < line.size() && line[end] == ' ') ++end;
    double value = 0;
    if (line[end] == '+') ++end;
    const auto [rest, error] = std::from_chars(line.data() + end, line.data() + line.size(), value);
    if (error == std::errc()) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> step_in(const Json& object) {
  for (const char* name : {"step", "epoch", "iteration"}) {
    if (object.contains(name) && object[name].is_number()) return object[name].get<std::int64_t>();
  }
  return std::nullopt;
}

Metrics metrics_in(const Json& object) {
  Metrics metrics;
  for (const auto& [name, value] : object.items()) {
    if (value.is_number()) metrics[name] = value.get<double>();
    if (value.is_null()) metrics[name] = NAN;  // JSON has no other form of NaN
  }
  return metrics;
}

}  // namespace

TrialResults::TrialResults(std::filesystem::path folder, std::vector<std::string> metrics)
    : folder_(std::move(folder)), names_(std::move(metrics)) {}

std::vector<Report> TrialResults::poll() {
  std::vector<Report> reports;
  read_lines(kResultsFile, reports);
  read_lines(kOutputFile, reports);
  read_list(reports);
  read_run(reports);
  return reports;
}

void TrialResults::read_lines(const char* file, std::vector<Report>& reports) {
  std::ifstream stream(folder_ / file, std::ios::binary);
  if (!stream) return;
  std::int64_t& position = positions_[file];
  stream.seekg(position);
  std::string line;
  while (std::getline(stream, line) && !stream.eof()) {
    position += static_cast<std::int64_t>(line.size()) + 1;
    if (line.size() < kMostLineBytes) take_line(line, file != kOutputFile, reports);
  }
}

void TrialResults::take_line(const std::string& line, bool is_json_only,
                             std::vector<Report>& reports) {
  if (line.starts_with("{")) {
    const Json object = Json::parse(line, nullptr, false);
    if (object.is_object()) take(step_in(object), metrics_in(object), reports);
    return;
  }
  if (is_json_only) return;
  Metrics metrics;
  for (const std::string& name : names_) {
    if (name.empty()) continue;
    if (const auto value = value_after(line, name)) metrics[name] = *value;
  }
  if (metrics.empty()) return;
  std::optional<std::int64_t> step;
  for (const char* name : {"step", "epoch", "iteration"}) {
    const auto value = value_after(line, name);
    if (value && !step) step = static_cast<std::int64_t>(*value);
  }
  take(step, metrics, reports);
}

void TrialResults::read_list(std::vector<Report>& reports) {
  const std::string text = os::read_text(folder_ / kResultListFile);
  const Json list = Json::parse(text, nullptr, false);
  if (!list.is_array()) return;  // being written
  for (; list_rows_ < list.size(); ++list_rows_) {
    const Json& object = list[list_rows_];
    if (object.is_object()) take(step_in(object), metrics_in(object), reports);
  }
}

std::filesystem::path TrialResults::run() const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (std::filesystem::exists(entry.path() / runs::kConfigFile)) return entry.path();
  }
  return {};
}

void TrialResults::read_run(std::vector<Report>& reports) {
  const std::filesystem::path folder = run();
  if (folder.empty()) return;
  const runs::Columns columns = runs::read_csv(folder / runs::kValidationsFile);
  if (columns.size() < 3) return;
  if (names_[0].empty()) names_[0] = columns[2].first;  // after step and epoch
  for (; run_rows_ < columns[0].second.size(); ++run_rows_) {
    Metrics metrics;
    for (std::size_t i = 2; i < columns.size(); ++i)
      metrics[columns[i].first] = columns[i].second[run_rows_];
    take(static_cast<std::int64_t>(columns[0].second[run_rows_]), metrics, reports);
  }
}

// The metrics of the best weights, which the run evaluates at its end.
void TrialResults::read_run_result() {
  const std::filesystem::path folder = run();
  if (folder.empty()) return;
  const Json result = Json::parse(os::read_text(folder / runs::kResultFile), nullptr, false);
  if (!result.is_object()) return;
  for (const auto& [name, value] : metrics_in(result)) last_[name] = value;
  if (result.contains("metrics") && result["metrics"].is_object()) {
    for (const auto& [name, value] : metrics_in(result["metrics"])) last_[name] = value;
  }
}

void TrialResults::take(std::optional<std::int64_t> step, const Metrics& metrics,
                        std::vector<Report>& reports) {
  for (const auto& [name, value] : metrics) last_[name] = value;
  const auto objective = metrics.find(names_[0]);
  if (objective == metrics.end()) return;
  reports.push_back({step.value_or(next_step_), objective->second});
  next_step_ = reports.back().step + 1;
}

std::optional<std::vector<double>> TrialResults::final_values() {
  read_run_result();
  std::vector<double> values;
  for (const std::string& name : names_) {
    const auto at = last_.find(name);
    if (at == last_.end()) return std::nullopt;
    values.push_back(at->second);
  }
  return values;
}

std::vector<std::string> TrialResults::seen_metrics() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : last_) names.push_back(name);
  return names;
}

}  // namespace tutti::tune
