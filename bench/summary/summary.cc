#include "bench/summary/summary.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/harness/row.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

// The machine of the first row; concatenated files may have several.
std::string machine_text(const nlohmann::ordered_json& rows) {
  if (rows.empty() || !rows[0].contains("machine")) return "";
  const auto& machine = rows[0]["machine"];
  return fmt::format("{}, {} cores, {}", machine.value("cpu", ""), machine.value("cores", 0),
                     machine.value("simd", ""));
}

}  // namespace

int run_summary(int argc, char** argv) {
  CLI::App app("Prints speed-ups over the baselines from the rows of benchmarks",
               "tutti bench summary");
  std::string file, plot;
  app.add_option("file", file, "JSON file written by benchmarks")->required();
  app.add_option("--plot", plot, "SVG file for a bar chart");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    throw ConfigError("DDL-8-36", fmt::format("{}. See tutti bench summary --help.", error.what()));
  }
  const nlohmann::ordered_json rows = read_rows(file);
  const std::vector<Comparison> comparisons = comparisons_of(rows);
  if (comparisons.empty())
    throw IoError(
        "DDL-8-11",
        fmt::format("{} has no comparisons. Run a benchmark with baselines and --json {} --append.",
                    file, file));
  fmt::print("{}\n{}", machine_text(rows), text_of(comparisons));
  if (!plot.empty()) write_plot(plot, render_svg(chart_of(comparisons, machine_text(rows))));
  return 0;
}

}  // namespace tutti::bench
