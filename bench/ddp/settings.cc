#include "bench/ddp/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/harness/sizes.h"
#include "tutti/core/error.h"

namespace tutti::bench {

bool parse_ddp(int argc, char** argv, DdpSettings& settings) {
  CLI::App app(
      "Steps of torch's DistributedDataParallel and its all_reduce, ddl beside gloo in one run.",
      "tutti bench ddp");
  int ranks = 0, hosts = 0, ranks_per_host = 0;
  std::string bytes = "1KiB,256KiB,4MiB,64MiB";
  std::string deal = "slot";
  app.add_option("--ranks", ranks, "Ranks on this host (default 2)");
  app.add_option("--bytes", bytes, "Sizes of the all-reduce alone")->capture_default_str();
  app.add_option("--models", settings.models, "resnet18, hep, wide (100 MB of gradients)")
      ->delimiter(',')
      ->check(CLI::IsMember({"resnet18", "hep", "wide"}));
  app.add_flag("--testbed", settings.on_testbed, "Run on the hosts of scripts/testbed");
  app.add_option("--hosts", hosts, "Hosts of the testbed (default 4)");
  app.add_option("--ranks-per-host", ranks_per_host, "Ranks on each of them (default 2)");
  app.add_option("--deal", deal,
                 "How ranks are dealt over hosts: slot (fill one, then the next) or node")
      ->check(CLI::IsMember({"slot", "node"}));
  app.add_option("--link-gigabits", settings.link_gigabits,
                 "Rate of a testbed host's link, in Gbit/s")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--json", settings.json, "Write the rows to this file");
  app.add_flag("--append", settings.append, "Keep the rows that the JSON file has");
  app.add_flag("--quick", settings.is_quick, "Fewer and shorter turns");
  app.add_option("--timeout", settings.timeout, "Seconds that one turn of one system may take")
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
  if (settings.on_testbed ? ranks > 0 : hosts > 1 || ranks_per_host > 0) {
    throw ConfigError("DDL-8-30", "Write --ranks N, or --testbed --hosts N --ranks-per-host M.");
  }
  settings.hosts = settings.on_testbed ? (hosts > 0 ? hosts : 4) : 1;
  const int asked = settings.on_testbed ? ranks_per_host : ranks;
  settings.ranks_per_host = asked != 0 ? asked : 2;
  if (settings.ranks_per_host < 1 || settings.ranks() < 2) {
    throw ConfigError("DDL-8-31", "There must be at least 2 ranks.");
  }
  settings.sizes = parse_sizes(bytes);
  settings.deal_by_node = deal == "node";
  return true;
}

}  // namespace tutti::bench
