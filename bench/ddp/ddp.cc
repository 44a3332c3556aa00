#include "bench/ddp/ddp.h"

#include <fmt/format.h>

#include "bench/ddp/report.h"

namespace tutti::bench {

int run_ddp(int argc, char** argv) {
  DdpSettings settings;
  if (!parse_ddp(argc, argv, settings)) return 0;
  const Machine machine = describe_machine();
  InterruptScope interrupt;
  const DdpOutcome outcome = run_ddp_contest(settings, interrupt);
  fmt::print("{}", heading(machine));
  fmt::print("{}", text_of(settings, outcome));
  settings.row_file.write(rows_of(settings, outcome), machine);
  return outcome.failures.empty() ? 0 : 1;
}

}  // namespace tutti::bench
