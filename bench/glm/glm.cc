#include "bench/glm/glm.h"

#include <fmt/format.h>
#include <poll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "bench/glm/bandwidth.h"
#include "bench/glm/cases.h"
#include "bench/glm/report.h"
#include "bench/harness/deprecated_option.h"
#include "bench/harness/interrupt.h"
#include "bench/harness/newest_peers.h"
#include "bench/harness/process.h"
#include "bench/harness/row_file.h"
#include "bench/harness/scratch_folder.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDebianPython = "/usr/bin/python3";

struct Settings {
  std::vector<std::string> cases;
  double scale = 1, seconds = 60, target = 1e-4, memory_fraction = 0;
  bool has_baselines = true, is_quick = false;
  RowFile row_file;
  std::string data, baselines;
};

// Parses the command line. Returns false, with the exit code in `code`, if nothing is to be run.
bool parse(int argc, char** argv, Settings& settings, int& code) {
  CLI::App app("Compares linear models with the solvers of scikit-learn on the same data",
               "tutti bench glm");
  std::vector<std::string> names;
  for (const GlmCase& one : glm_cases()) names.emplace_back(one.name);
  app.add_option("--cases", settings.cases, "problems, comma-separated [all]")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app.add_option("--scale", settings.scale, "fraction of the rows [1]")
      ->check(CLI::Range(1e-4, 100.0));
  app.add_option("--gap", settings.target, "relative gap to reach [1e-4]")
      ->check(CLI::Range(1e-12, 1.0));
  app.add_option("--seconds", settings.seconds,
                 "a baseline whose last fit took longer is not run again [60]");
  app.add_flag_callback(
      "--no-baselines", [&settings] { settings.has_baselines = false; }, "measure only Tutti");
  app.add_flag_callback("--no-peers",
                        [&settings] {
                          warn_deprecated("option", "--no-peers", "--no-baselines");
                          settings.has_baselines = false;
                        })
      ->group("");
  accept_deprecated(app, "--peers", "--baselines");
  app.add_option("--baselines", settings.baselines,
                 "solvers to compare with, comma-separated, as in saga,lbfgs [all]");
  accept_deprecated(app, "--memory-share", "--memory-fraction");
  app.add_option(
         "--memory-fraction", settings.memory_fraction,
         "also fit from a file, with this fraction of the size of the data as memory limit [off]")
      ->check(CLI::Range(0.01, 1.0));
  app.add_option("--data", settings.data, "directory to keep the generated data in [temporary]")
      ->check(CLI::ExistingDirectory);
  app.add_flag("--quick", settings.is_quick, "1 % of the rows");
  settings.row_file.declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    code = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
  if (settings.cases.empty()) settings.cases = names;
  if (settings.is_quick) settings.scale = 0.01;
  return true;
}

void run_worker(const std::string& python, const GlmCase& one, const Settings& settings,
                const fs::path& folder, const InterruptScope& interrupt) {
  ProcessSpec spec;
  spec.arguments = {python,
                    "-B",
                    (os::prefix() / "libexec/tutti/worker_glm.py").string(),
                    folder.string(),
                    std::string(one.name),
                    std::string(one.penalty),
                    one.has_intercept ? "1" : "0",
                    fmt::format("{}", settings.target),
                    fmt::format("{}", settings.has_baselines ? settings.seconds : 0),
                    settings.baselines,
                    fmt::format("{}", settings.memory_fraction)};
  if (python == kDebianPython)  // whose NumPy the extensions are built for
    spec.environment = {fmt::format("PYTHONPATH={}", (os::prefix() / "python").string())};
  else
    spec.environment = {"PYTHONPATH="};
  Process worker(spec, folder / "log");
  pollfd events[] = {{worker.end_fd(), POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
  while (!worker.has_ended()) {
    ::poll(events, 2, -1);
    interrupt.check();
  }
  if (!worker.succeeded())
    throw IoError("DDL-8-72", fmt::format("The worker of bench glm {}:\n{}", worker.how_it_ended(),
                                          last_lines(folder / "log", 12)));
}

// Generates the data unless the directory has it from an earlier run.
void prepare(const GlmCase& one, const fs::path& folder, GlmOutcome& outcome) {
  if (!fs::exists(folder / "shape")) {
    fs::create_directories(folder);
    write_arrays(one.make(outcome.rows), folder);
  }
  std::ifstream(folder / "shape") >> outcome.rows >> outcome.columns >> outcome.entries;
  const fs::path values = folder / "values", indices = folder / "indices";
  for (const fs::path& array : {values, indices})
    if (fs::exists(array)) outcome.bytes += static_cast<std::int64_t>(fs::file_size(array));
}

GlmOutcome run_case(const GlmCase& one, const Settings& settings, const InterruptScope& interrupt) {
  const ScratchFolder scratch;
  const std::int64_t rows = std::max<std::int64_t>(
      1000, static_cast<std::int64_t>(static_cast<double>(one.rows) * settings.scale));
  GlmOutcome outcome{.name = std::string(one.name),
                     .what = std::string(one.what),
                     .rows = rows,
                     .target = settings.target,
                     .fits = {}};
  const fs::path folder = settings.data.empty()
                              ? scratch.path()
                              : fs::path(settings.data) / fmt::format("{}-{}", one.name, rows);
  prepare(one, folder, outcome);
  outcome.bandwidth = read_bandwidth();
  run_worker(std::string(kDebianPython), one, settings, folder, interrupt);
  if (const auto newest = newest_peers(); newest && settings.has_baselines)
    run_worker(*newest, one, settings, folder, interrupt);
  outcome.fits = read_fits(folder / "fits");
  return outcome;
}

}  // namespace

int run_glm(int argc, char** argv) {
  Settings settings;
  int code = 0;
  if (!parse(argc, argv, settings, code)) return code;
  const Machine machine = describe_machine();
  const InterruptScope interrupt;
  fmt::print("{}", heading(machine));
  std::vector<Row> rows;
  for (const GlmCase& one : glm_cases()) {
    if (std::find(settings.cases.begin(), settings.cases.end(), one.name) == settings.cases.end())
      continue;
    const GlmOutcome outcome = run_case(one, settings, interrupt);
    fmt::print("\n{}", text_of(outcome));
    std::fflush(stdout);
    const std::vector<Row> more = rows_of(outcome);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  settings.row_file.write(rows, machine);
  return 0;
}

}  // namespace tutti::bench
