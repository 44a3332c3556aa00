#include "bench/allreduce/allreduce.h"

#include <fmt/format.h>

#include <fstream>

#include "bench/allreduce/report.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

void write_plot(const std::string& path, const plot::Chart& chart) {
  std::ofstream file(path);
  file << render_svg(chart);
  file.close();
  if (!file)
    throw IoError("DDL-8-12",
                  fmt::format("Cannot write {}. Check that its folder exists and has room.", path));
}

}  // namespace

int run_allreduce(int argc, char** argv) {
  AllreduceSettings settings;
  if (!parse_allreduce(argc, argv, settings)) return 0;
  const Machine machine = describe_machine();
  InterruptScope interrupt;
  Outcome outcome = run_contest(settings, interrupt);
  fmt::print("{}", heading(machine));
  fmt::print("{}", text_of(settings, outcome));
  if (!settings.json.empty())
    write_rows(settings.json, rows_of(settings, outcome), machine,
               settings.append ? FileMode::kAppend : FileMode::kReplace);
  if (!settings.plot.empty()) write_plot(settings.plot, chart_of(settings, outcome, machine));
  return outcome.failures.empty() ? 0 : 1;
}

}  // namespace tutti::bench
