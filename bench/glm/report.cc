#include "bench/glm/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "bench/harness/table.h"
#include "tutti/core/error.h"

namespace tutti::bench {

std::vector<GlmFit> read_fits(const std::filesystem::path& path) {
  std::vector<GlmFit> fits;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object() || !json.contains("objective"))
      throw IoError(
          "DDL-8-71",
          fmt::format("The worker of bench glm printed '{}', which is not a result.", line));
    fits.push_back({json["system"], json["settings"], json["seconds"], json["objective"],
                    json["passes"], json.value("computing", 0.0), json.value("in_memory", 0.0)});
  }
  return fits;
}

double GlmOutcome::best() const {
  double smallest = std::numeric_limits<double>::infinity();
  for (const GlmFit& fit : fits) smallest = std::min(smallest, fit.objective);
  return smallest;
}

const GlmFit* GlmOutcome::first_within(const std::string& system) const {
  const GlmFit* first = nullptr;
  for (const GlmFit& fit : fits)
    if (fit.system == system && gap(fit) <= target &&
        (first == nullptr || fit.seconds < first->seconds))
      first = &fit;
  return first;
}

std::vector<std::string> GlmOutcome::systems() const {
  std::vector<std::string> names;
  for (const GlmFit& fit : fits)
    if (std::find(names.begin(), names.end(), fit.system) == names.end())
      names.push_back(fit.system);
  return names;
}

namespace {

double seconds_of_passes(const GlmFit& fit) {
  return fit.computing > 0 ? fit.computing : fit.seconds;
}

double share_of_bandwidth(const GlmOutcome& outcome, const GlmFit& fit) {
  if (!(outcome.bandwidth > 0)) return 0;
  return static_cast<double>(outcome.bytes) * fit.passes / seconds_of_passes(fit) /
         outcome.bandwidth;
}

// Fits that are measured alternately have seen the same state of the machine.
double times_ours(const GlmFit& fit, const GlmFit& ours) {
  return fit.seconds / (fit.in_memory > 0 ? fit.in_memory : ours.seconds);
}

double per_entry(const GlmOutcome& outcome, const GlmFit& fit) {
  return seconds_of_passes(fit) / fit.passes / static_cast<double>(outcome.entries) * 1e9;
}

}  // namespace

std::vector<Row> rows_of(const GlmOutcome& outcome) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& system, const char* metric, double value,
                       const char* unit, const GlmFit* fit) -> Row& {
    Row row{.bench = "glm", .system = system, .metric = metric, .value = value, .unit = unit};
    row.fields = {{"case", outcome.name},
                  {"rows", outcome.rows},
                  {"columns", outcome.columns},
                  {"entries", outcome.entries}};
    if (fit != nullptr) {
      row.fields["settings"] = fit->settings;
      row.fields["gap"] = outcome.gap(*fit);
    }
    return rows.emplace_back(std::move(row));
  };
  for (const GlmFit& fit : outcome.fits) add(fit.system, "time", fit.seconds, "s", &fit);
  const GlmFit* ours = outcome.first_within("tutti");
  if (ours == nullptr) return rows;
  add("tutti", "time_to_gap", ours->seconds, "s", ours);
  if (ours->passes > 0) {
    add("tutti", "passes", ours->passes, "passes", ours);
    add("tutti", "time_per_entry", per_entry(outcome, *ours), "ns", ours);
    add("tutti", "bandwidth_share", share_of_bandwidth(outcome, *ours), "", ours);
  }
  for (const std::string& system : outcome.systems()) {
    const GlmFit* theirs = system == "tutti" ? nullptr : outcome.first_within(system);
    if (theirs == nullptr) continue;
    add(system, "time_to_gap", theirs->seconds, "s", theirs);
    const double ratio = times_ours(*theirs, *ours);
    if (system == kFromFile)
      add(system, "times_in_memory", ratio, "x", theirs);
    else
      set_baseline(add("tutti", "ratio", ratio, "x", ours), system);
  }
  return rows;
}

std::string text_of(const GlmOutcome& outcome) {
  Table table({"system", "settings", "time", "gap", "passes", "tutti is"});
  const GlmFit* ours = outcome.first_within("tutti");
  for (const GlmFit& fit : outcome.fits) {
    const bool counts =
        ours != nullptr && fit.system != "tutti" && &fit == outcome.first_within(fit.system);
    const char* ratio = fit.system == kFromFile ? "{:.2f}x the time in memory" : "{:.1f}x faster";
    table.add({fit.system, fit.settings, format_seconds(fit.seconds),
               fmt::format("{:.1e}", outcome.gap(fit)),
               fit.passes > 0 ? format_digits(fit.passes) : "",
               counts ? fmt::format(fmt::runtime(ratio), times_ours(fit, *ours)) : ""});
  }
  std::string text =
      fmt::format("{}: {}, {} rows, {} entries; gap to reach {:.0e}\n{}", outcome.name,
                  outcome.what, outcome.rows, outcome.entries, outcome.target, table.text());
  if (ours != nullptr && ours->passes > 0)
    text += fmt::format(
        "tutti: {:.2f} s of it in passes over the data: {:.2f} ns per entry and pass, {:.0f} % of "
        "the memory bandwidth of {:.1f} GB/s\n",
        seconds_of_passes(*ours), per_entry(outcome, *ours),
        100 * share_of_bandwidth(outcome, *ours), outcome.bandwidth * 1e-9);
  return text;
}

}  // namespace tutti::bench
