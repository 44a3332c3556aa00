// `tutti runs`: what was trained. `tutti plot RUN`: its curves, drawn again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/tutti/command.h"
#include "apps/tutti/train_request.h"
#include "tutti/train/run/options.h"
#include "tutti/train/run/run_folder.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;

std::string line_of(const fs::path& run) {
  const auto metrics = train::read_metrics(run);
  const auto steps = metrics.find("step");
  std::string text = fmt::format("{:<32}", run.filename().string());
  if (steps == metrics.end() || steps->second.empty()) return text + "  no step yet";
  text += fmt::format("  step {:>8.0f}  loss {:>8.4f}", steps->second.back(),
                      metrics.at("loss").back());
  std::ifstream file(run / "result.json");
  // In the order of the file: the first metric is the one that counts.
  const auto result = nlohmann::ordered_json::parse(file, nullptr, false);
  if (result.is_discarded()) return text + "  not finished";
  text += fmt::format("  {:>8.0f} samples/s", result.value("samples_per_second", 0.0));
  const auto& all = result.value("metrics", nlohmann::ordered_json::object());
  if (!all.empty())
    text += fmt::format("  {} {:.4g}", all.begin().key(), all.begin().value().get<double>());
  return text;
}

}  // namespace

int run_runs(int argc, char** argv) {
  CLI::App app("Lists the runs of a folder", "tutti runs");
  const Options options(train::train_options());
  std::string folder = options.text("runs");
  app.add_option("folder", folder, "where the runs are [runs]");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::vector<fs::path> runs;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (fs::exists(entry.path() / "config.toml")) runs.push_back(entry.path());
  std::sort(runs.begin(), runs.end());
  for (const fs::path& run : runs) fmt::print("{}\n", line_of(run));
  if (runs.empty()) fmt::print("no runs in {}\n", folder);
  return 0;
}

int run_plot(int argc, char** argv) {
  CLI::App app("Draws the curves of a run from its metrics.csv", "tutti plot");
  std::string folder;
  app.add_option("run", folder, "folder of the run")->required()->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  check_run(folder);
  const std::vector<fs::path> written = train::plot_run(folder);
  for (const fs::path& file : written) fmt::print("{}\n", file.string());
  if (written.empty()) fmt::print("{} has no step yet\n", folder);
  return 0;
}

}  // namespace tutti::app
