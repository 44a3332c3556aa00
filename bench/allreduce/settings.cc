#include "bench/allreduce/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/allreduce/systems.h"
#include "bench/harness/sizes.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

// The command line as it was typed, before it is checked.
struct Typed {
  int ranks = 0, hosts = 0, ranks_per_host = 0;
  std::string bytes = "1KiB..256MiB";
  std::string deal = "slot";
  std::string metric = "bandwidth";
};

void declare(CLI::App& app, Typed& typed, AllreduceSettings& settings) {
  app.add_option("--ranks", typed.ranks, "Ranks on this host (default 2)");
  app.add_option("--bytes", typed.bytes, "Message sizes: 1KiB..256MiB, 1KiB..256MiBx2 or 1KiB,4MiB")
      ->capture_default_str();
  app.add_option("--peers", settings.peers,
                 fmt::format("Who is measured beside us: {}", fmt::join(peer_names(), ", ")))
      ->delimiter(',');
  app.add_option("--memory", settings.memory, "Where our buffers lie: library, foreign")
      ->delimiter(',')
      ->check(CLI::IsMember({"library", "foreign"}));
  app.add_flag("--testbed", settings.on_testbed, "Run on the hosts of scripts/testbed");
  app.add_option("--hosts", typed.hosts, "Hosts of the testbed (default 4)");
  app.add_option("--ranks-per-host", typed.ranks_per_host, "Ranks on each of them (default 2)");
  app.add_option("--deal", typed.deal,
                 "How ranks are dealt over hosts: slot (fill one, then the next) or node")
      ->check(CLI::IsMember({"slot", "node"}));
  app.add_option("--link-gigabits", settings.link_gigabits,
                 "Rate of a testbed host's link, in Gbit/s")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--json", settings.json, "Write the rows to this file");
  app.add_flag("--append", settings.append, "Keep the rows that the JSON file has");
  app.add_option("--plot", settings.plot, "Draw them into this SVG file");
  app.add_option("--plot-metric", typed.metric, "What the plot shows: bandwidth or time")
      ->check(CLI::IsMember({"bandwidth", "time"}));
  app.add_flag("--quick", settings.is_quick, "Fewer and shorter turns");
  app.add_option("--timeout", settings.timeout, "Seconds that one turn of one system may take")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

void check_layout(const Typed& typed, AllreduceSettings& settings) {
  if (!settings.on_testbed && (typed.hosts > 1 || typed.ranks_per_host > 0))
    throw ConfigError("DDL-8-30",
                      "--hosts and --ranks-per-host need --testbed; on one host write --ranks N.");
  if (settings.on_testbed && typed.ranks > 0)
    throw ConfigError("DDL-8-30",
                      "On the testbed write --hosts N --ranks-per-host M, not --ranks.");
  settings.hosts = settings.on_testbed ? (typed.hosts > 0 ? typed.hosts : 4) : 1;
  int asked = settings.on_testbed ? typed.ranks_per_host : typed.ranks;
  settings.ranks_per_host = asked != 0 ? asked : 2;
  if (typed.ranks < 0 || typed.hosts < 0 || settings.ranks_per_host < 1 || settings.ranks() < 2)
    throw ConfigError("DDL-8-31", "An all-reduce needs at least 2 ranks.");
}

void check_peers(const AllreduceSettings& settings) {
  for (const std::string& peer : settings.peers) {
    std::vector<std::string> known = peer_names();
    if (std::find(known.begin(), known.end(), peer) == known.end())
      throw ConfigError("DDL-8-32", fmt::format("No peer is called '{}'. Choose from {}.", peer,
                                                fmt::join(known, ", ")));
  }
}

}  // namespace

bool parse_allreduce(int argc, char** argv, AllreduceSettings& settings) {
  CLI::App app("All-reduce of f32 sums, ours beside the peers in one run, results checked.",
               "tutti bench allreduce");
  Typed typed;
  settings.peers = default_peers();
  settings.memory = {"library", "foreign"};
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
  check_layout(typed, settings);
  check_peers(settings);
  settings.sizes = parse_sizes(typed.bytes);
  settings.deal_by_node = typed.deal == "node";
  settings.plot_time = typed.metric == "time";
  return true;
}

}  // namespace tutti::bench
