#include "bench/lms/lms.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/lms/contest.h"

namespace tutti::bench {

int run_lms_bench(int argc, char** argv) {
  LmsSettings settings;
  CLI::App app(
      "Training steps within a memory budget, compared with the same steps without a limit",
      "tutti bench lms");
  app.add_option("--case", settings.case_name,
                 "the case, or gpt2 for a Transformer of GPT-2's shape [resnet]");
  app.add_option("--option", settings.options, "option=value of the case; may be repeated");
  app.add_option("--size", settings.size,
                 "pixels or voxels along a side of the input, or tokens; 0: by the case [0]");
  app.add_option("--fractions", settings.fractions,
                 "budgets as fractions of the peak without LMS [1,0.75,0.5,0.35]")
      ->delimiter(',')
      ->check(CLI::Range(0.01, 2.0));
  app.add_option("--steps", settings.steps,
                 "steps per budget; the first three are not measured [6]")
      ->check(CLI::Range(4, 1000));
  app.add_option("--swap-dir", settings.directory,
                 "directory of the swap file; empty: TMPDIR, else /var/tmp");
  app.add_option("--plot", settings.plot, "SVG file for step time by budget");
  settings.row_file.declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Machine machine = describe_machine();
  const LmsOutcome outcome = run_lms_contest(settings);
  fmt::print("{}{}", heading(machine), text_of(settings, outcome));
  settings.row_file.write(rows_of(settings, outcome), machine);
  if (!settings.plot.empty()) write_plot(settings.plot, svg_of(settings, outcome));
  return outcome.failures.empty() ? 0 : 1;
}

}  // namespace tutti::bench
