#include "bench/train/train.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/harness/deprecated_option.h"
#include "bench/train/contest.h"

namespace tutti::bench {

int run_train_bench(int argc, char** argv) {
  TrainSettings settings;
  std::string case_name = "hep";
  std::vector<int> sides;
  int batch = 0;
  bool is_quick = false;
  CLI::App app(
      "Compares the training step of a case with PyTorch's DistributedDataParallel over Gloo",
      "tutti bench train");
  std::vector<std::string> names;
  for (const TrainCase& each : train_cases()) names.push_back(each.name);
  app.add_option("--case", case_name, "case [hep]")->check(CLI::IsMember(names));
  app.add_option("--ranks", settings.ranks, "processes, one thread each [2]")
      ->check(CLI::Range(1, 256));
  app.add_option("--sides,--images", sides,
                 "side of a sample in pixels or voxels [224, 64 or 96, depending on the case]")
      ->delimiter(',')
      ->check(CLI::Range(16, 1024));
  app.add_option("--batch", batch, "batch size of each rank [8, 8 or 2, depending on the case]")
      ->check(CLI::Range(1, 4096));
  app.add_option("--steps", settings.steps, "measured steps per round [6]")
      ->check(CLI::Range(1, 1000));
  app.add_option("--rounds", settings.rounds, "rounds of each system [2]")
      ->check(CLI::Range(1, 100));
  accept_deprecated<std::vector<std::string>>(app, "--peers", "--baselines");
  app.add_option("--baselines", settings.baselines, "systems to compare with: torch-ddp, or none")
      ->delimiter(',')
      ->check(CLI::IsMember({"torch-ddp", "none"}));
  settings.row_file.declare(app);
  app.add_flag("--quick", is_quick, "one round of three steps on small samples");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  settings.train_case = *std::ranges::find(train_cases(), case_name, &TrainCase::name);
  settings.sides = sides.empty() ? std::vector{settings.train_case.side} : sides;
  settings.batch = batch > 0 ? batch : settings.train_case.batch;
  if (is_quick) {
    if (sides.empty()) settings.sides = {case_name == "cosmoflow" ? 32 : 64};
    settings.steps = 3;
    settings.rounds = 1;
  }
  std::erase(settings.baselines, "none");
  const Machine machine = describe_machine();
  InterruptScope interrupt;
  const TrainOutcome outcome = run_train_contest(settings, interrupt);
  fmt::print("{}", heading(machine));
  fmt::print("{}", text_of(settings, outcome));
  settings.row_file.write(rows_of(settings, outcome), machine);
  return outcome.failures.empty() ? 0 : 1;
}

}  // namespace tutti::bench
