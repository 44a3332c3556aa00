#include "bench/allreduce/allreduce.h"

#include <fmt/format.h>

#include "bench/allreduce/report.h"

namespace tutti::bench {

int run_allreduce(int argc, char** argv) {
  AllreduceSettings settings;
  if (!parse_allreduce(argc, argv, settings)) return 0;
  const Machine machine = describe_machine();
  InterruptScope interrupt;
  Outcome outcome = run_contest(settings, interrupt);
  settings.sizes.resize(outcome.sizes);
  fmt::print("{}", heading(machine));
  fmt::print("{}", text_of(settings, outcome));
  settings.row_file.write(rows_of(settings, outcome), machine);
  if (!settings.plot.empty())
    write_plot(settings.plot, render_svg(chart_of(settings, outcome, machine)));
  if (outcome.signal != 0) throw Interrupted(outcome.signal);
  return outcome.failures.empty() ? 0 : 1;
}

}  // namespace tutti::bench
