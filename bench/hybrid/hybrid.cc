#include "bench/hybrid/hybrid.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/hybrid/contest.h"
#include "bench/hybrid/quota.h"

namespace tutti::bench {

int run_hybrid(int argc, char** argv) {
  HybridSettings settings;
  CLI::App app("Compares training strategies on equally fast ranks and with one slow rank",
               "tutti bench hybrid");
  app.add_option("--ranks", settings.ranks, "ranks of every strategy, including servers [5]")
      ->check(CLI::Range(3, 256));
  app.add_option("--slowness", settings.slowness, "slowdown of one rank [5]")
      ->check(CLI::Range(1.0, 1000.0));
  app.add_option("--target", settings.target, "target loss [0.18]")->check(CLI::Range(0.0, 10.0));
  app.add_option("--seconds", settings.seconds, "time limit of a run in seconds [60]")
      ->check(CLI::Range(1.0, 1e5));
  app.add_option("--strategies", settings.strategies, "strategies to compare [sync,hybrid,async]")
      ->delimiter(',')
      ->check(CLI::IsMember({"sync", "hybrid", "async"}));
  bool is_quick = false;
  app.add_flag("--quick", is_quick, "end every run after 15 seconds");
  app.add_option("--rounds", settings.rounds, "runs of each strategy; the median is reported [1]")
      ->check(CLI::Range(1, 100));
  app.add_flag("--testbed", settings.on_testbed,
               "every rank on a separate host of scripts/testbed");
  app.add_option("--rate", settings.link_gigabits, "bandwidth of the testbed's links in Gbit/s [1]")
      ->check(CLI::Range(0.001, 1000.0));
  app.add_option("--set", settings.train, "option=value of training; may be repeated");
  settings.row_file.declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (is_quick) settings.seconds = std::min(settings.seconds, 15.0);
  const Machine machine = describe_machine();
  InterruptScope interrupt;
  const HybridOutcome outcome = run_hybrid_contest(settings, interrupt);
  fmt::print("{}\n", one_line(machine));
  if (!CpuQuota::has_groups())
    fmt::print("No cgroups: only the slow rank is limited, by stopping and continuing it.\n");
  fmt::print("{}", text_of(settings, outcome));
  settings.row_file.write(rows_of(settings, outcome), machine);
  for (const auto& [what, turn] : outcome)
    if (!turn.trouble.empty()) return 1;
  return 0;
}

}  // namespace tutti::bench
