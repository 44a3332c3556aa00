#include "bench/allreduce/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/allreduce/systems.h"
#include "bench/harness/deprecated_option.h"
#include "bench/harness/sizes.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

// The command line as given, before it is checked.
struct Typed {
  TypedPlacement placement;
  std::string bytes;
  std::string metric = "bandwidth";
};

// Over slow links the largest sizes take minutes and add no information.
std::string default_bytes(const AllreduceSettings& settings) {
  if (!settings.on_testbed) return "1KiB..256MiB";
  return settings.is_quick ? "1KiB,64KiB,4MiB,64MiB" : "1KiB..64MiB";
}

// "foreign" is the deprecated name of "caller".
std::string renamed_memory(std::string memory) {
  if (memory != "foreign") return memory;
  warn_deprecated("value of --memory", "foreign", "caller");
  return "caller";
}

void declare(CLI::App& app, Typed& typed, AllreduceSettings& settings) {
  typed.placement.declare(app, settings);
  app.add_option("--bytes", typed.bytes,
                 "message sizes: 1KiB..256MiB (default; 64MiB on the testbed), 1KiB..256MiBx2 or "
                 "1KiB,4MiB");
  accept_deprecated<std::vector<std::string>>(app, "--peers", "--baselines");
  app.add_option("--baselines", settings.baselines,
                 fmt::format("systems to compare with: {}", fmt::join(baseline_names(), ", ")))
      ->delimiter(',');
  app.add_option("--memory", settings.memory,
                 "memory of Tutti's buffers: library (library-allocated), caller "
                 "(caller-allocated); default both")
      ->delimiter(',')
      ->transform(renamed_memory)
      ->check(CLI::IsMember({"library", "caller"}));
  settings.row_file.declare(app);
  app.add_option("--plot", settings.plot, "SVG file to plot the results to");
  app.add_option("--plot-metric", typed.metric, "plotted quantity: bandwidth or time")
      ->check(CLI::IsMember({"bandwidth", "time"}));
  app.add_flag("--quick", settings.is_quick, "fewer and shorter turns");
  app.add_option("--timeout", settings.timeout, "time limit of one turn of one system in seconds")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

void check_baselines(const AllreduceSettings& settings) {
  for (const std::string& baseline : settings.baselines) {
    std::vector<std::string> known = baseline_names();
    if (std::find(known.begin(), known.end(), baseline) == known.end())
      throw ConfigError("DDL-8-32", fmt::format("Unknown baseline '{}'. Valid values: {}.",
                                                baseline, fmt::join(known, ", ")));
  }
}

}  // namespace

bool parse_allreduce(int argc, char** argv, AllreduceSettings& settings) {
  CLI::App app("All-reduce of f32 sums: Tutti and the baselines in one run, with checked results",
               "tutti bench allreduce");
  Typed typed;
  settings.baselines = default_baselines();
  settings.memory = {"library", "caller"};
  declare(app, typed, settings);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& error) {
    throw ConfigError("DDL-8-33",
                      fmt::format("{}. See tutti bench allreduce --help.", error.what()));
  }
  typed.placement.check(settings);
  check_baselines(settings);
  settings.sizes = parse_sizes(typed.bytes.empty() ? default_bytes(settings) : typed.bytes);
  settings.plot_time = typed.metric == "time";
  return true;
}

}  // namespace tutti::bench
