#include "bench/train/train.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/train/contest.h"

namespace tutti::bench {

int run_train_bench(int argc, char** argv) {
  TrainSettings settings;
  bool is_quick = false;
  CLI::App app("The training step of a case, beside DistributedDataParallel over Gloo in Python",
               "tutti bench train");
  app.add_option("--case", settings.case_name, "which case [hep]")->check(CLI::IsMember({"hep"}));
  app.add_option("--ranks", settings.ranks, "processes, one thread each [2]")
      ->check(CLI::Range(1, 256));
  app.add_option("--images", settings.images, "sides of the pictures [224]")
      ->delimiter(',')
      ->check(CLI::Range(16, 1024));
  app.add_option("--batch", settings.batch, "images per rank and step [8]")
      ->check(CLI::Range(1, 4096));
  app.add_option("--steps", settings.steps, "measured steps in each round [6]")
      ->check(CLI::Range(1, 1000));
  app.add_option("--rounds", settings.rounds, "times that each system comes in turn [2]")
      ->check(CLI::Range(1, 100));
  app.add_option("--peers", settings.peers, "torch-ddp, or none")
      ->delimiter(',')
      ->check(CLI::IsMember({"torch-ddp", "none"}));
  app.add_option("--json", settings.json, "file for the rows");
  app.add_flag("--append", settings.append, "keep the rows that the file has");
  app.add_flag("--quick", is_quick, "one round of three steps on pictures of 64x64");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (is_quick) {
    settings.images = {64};
    settings.steps = 3;
    settings.rounds = 1;
  }
  std::erase(settings.peers, "none");
  const Machine machine = describe_machine();
  InterruptScope interrupt;
  const TrainOutcome outcome = run_train_contest(settings, interrupt);
  fmt::print("{}", heading(machine));
  fmt::print("{}", text_of(settings, outcome));
  if (!settings.json.empty())
    write_rows(settings.json, rows_of(settings, outcome), machine,
               settings.append ? FileMode::kAppend : FileMode::kReplace);
  return outcome.failures.empty() ? 0 : 1;
}

}  // namespace tutti::bench
