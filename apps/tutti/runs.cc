// `tutti runs`: list of runs. `tutti plot RUN`: plots of a run from its metrics.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "apps/tutti/command.h"
#include "apps/tutti/train_request.h"
#include "tutti/runs/run_index.h"
#include "tutti/train/run/options.h"
#include "tutti/train/run/plots.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;

std::string line_of(const fs::path& run) {
  const runs::RunSummary summary = runs::summarize(run);
  std::string text = fmt::format("{:<32}", run.filename().string());
  if (summary.steps == 0) return text + "  no step yet";
  text += fmt::format("  step {:>8}  loss {:>8.4f}", summary.steps, summary.loss);
  if (!summary.is_finished) return text + "  not finished";
  text += fmt::format("  {:>8.0f} samples/s", summary.samples_per_second);
  if (summary.first_metric)
    text += fmt::format("  {} {:.4g}", summary.first_metric->first, summary.first_metric->second);
  return text;
}

}  // namespace

int run_runs(int argc, char** argv) {
  CLI::App app("Lists the runs of a directory", "tutti runs");
  const Options options(train::train_options());
  std::string folder = options.text("runs");
  app.add_option("directory", folder, "directory of the runs [runs]");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::vector<fs::path> runs = runs::list_runs(folder);
  for (const fs::path& run : runs) fmt::print("{}\n", line_of(run));
  if (runs.empty()) fmt::print("no runs in {}\n", folder);
  return 0;
}

int run_plot(int argc, char** argv) {
  CLI::App app("Draws the training curves of a run from its metrics.csv", "tutti plot");
  std::string folder;
  app.add_option("run", folder, "run directory")->required()->check(CLI::ExistingDirectory);
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
