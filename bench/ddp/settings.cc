#include "bench/ddp/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/harness/sizes.h"
#include "tutti/core/error.h"

namespace tutti::bench {

bool parse_ddp(int argc, char** argv, DdpSettings& settings) {
  CLI::App app(
      "Compares training steps of DistributedDataParallel and its all_reduce with the backends ddl "
      "and gloo, in one run",
      "tutti bench ddp");
  TypedPlacement placement;
  std::string bytes = "1KiB,256KiB,4MiB,64MiB";
  placement.declare(app, settings);
  app.add_option("--bytes", bytes, "message sizes of all_reduce alone")->capture_default_str();
  app.add_option("--models", settings.models,
                 "models to train: resnet18, hep, or wide (100 MB of gradients)")
      ->delimiter(',')
      ->check(CLI::IsMember({"resnet18", "hep", "wide"}));
  settings.row_file.declare(app);
  app.add_flag("--quick", settings.is_quick, "fewer and shorter turns");
  app.add_option("--timeout", settings.timeout, "time limit of one turn of one system in seconds")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& error) {
    throw ConfigError("DDL-8-34", fmt::format("{}. See tutti bench ddp --help.", error.what()));
  }
  placement.check(settings);
  settings.sizes = parse_sizes(bytes);
  return true;
}

}  // namespace tutti::bench
