#include "bench/tune/tune.h"

#include <fmt/format.h>
#include <poll.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "bench/harness/interrupt.h"
#include "bench/harness/machine.h"
#include "bench/harness/newest_peers.h"
#include "bench/harness/process.h"
#include "bench/harness/progress.h"
#include "bench/harness/row_file.h"
#include "bench/harness/scratch_folder.h"
#include "bench/tune/report.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kPollMilliseconds = 500;
constexpr int kQuickSeeds = 2;

struct Settings {
  int seeds = 30, trials = 100;
  bool is_quick = false;
  RowFile row_file;
};

// Returns the exit code if the program must end.
std::optional<int> parse(int argc, char** argv, Settings& settings) {
  CLI::App app(
      "Compares hyper-parameter search with Optuna: time of a suggestion, and best value after "
      "some trials",
      "tutti bench tune");
  app.add_option("--seeds", settings.seeds, "repetitions of each search [30]")
      ->check(CLI::PositiveNumber);
  app.add_option("--trials", settings.trials, "trials of each search [100]")
      ->check(CLI::PositiveNumber);
  app.add_flag("--quick", settings.is_quick, "2 seeds and fewer suggestions");
  settings.row_file.declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (settings.is_quick) settings.seeds = kQuickSeeds;
  return std::nullopt;
}

void run_worker(const std::string& python, const std::string& module, const Settings& settings,
                const fs::path& folder, const InterruptScope& interrupt) {
  const auto program = os::prefix() / "libexec/tutti/worker_tune.py";
  const fs::path log = folder / "log";
  Process worker(
      {{python, "-B", program, module, folder / "results", std::to_string(settings.seeds),
        std::to_string(settings.trials), settings.is_quick ? "1" : "0"},
       {fmt::format("PYTHONPATH={}", (os::prefix() / "python").string()), "OMP_NUM_THREADS=1",
        "OPENBLAS_NUM_THREADS=1"}},
      log);
  while (!worker.has_ended()) {
    pollfd events[] = {{worker.end_fd(), POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
    ::poll(events, 2, kPollMilliseconds);
    interrupt.check();
  }
  if (!worker.succeeded()) {
    throw IoError("DDL-8-77", fmt::format("The worker of bench tune {} ({}):\n{}",
                                          worker.how_it_ended(), module, last_lines(log, 12)));
  }
}

}  // namespace

int run_tune_bench(int argc, char** argv) {
  Settings settings;
  if (const auto code = parse(argc, argv, settings)) return *code;
  const Machine machine = describe_machine();
  const InterruptScope interrupt;
  const ScratchFolder folder;
  std::string failures;
  const auto run = [&](const std::string& python, const std::string& module) {
    try {
      run_worker(python, module, settings, folder.path(), interrupt);
    } catch (const Error& error) {
      failures += fmt::format("{}\n", error.what());
    }
  };
  Progress progress(2);
  run("/usr/bin/python3", "tutti.tune");
  progress.step("tutti.tune");
  run("/usr/bin/python3", "optuna");
  progress.step("optuna");
  if (const auto newest = newest_peers()) run(*newest, "optuna");
  progress.clear();
  const TuneResults results = read_results(folder.path() / "results");
  fmt::print("{}{}{}", heading(machine), text_of(results), failures);
  settings.row_file.write(rows_of(results), machine);
  return failures.empty() ? 0 : 1;
}

}  // namespace tutti::bench
