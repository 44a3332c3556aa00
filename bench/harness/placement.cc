#include "bench/harness/placement.h"

#include <CLI/CLI.hpp>

#include "bench/harness/deprecated_option.h"
#include "tutti/core/error.h"

namespace tutti::bench {

void TypedPlacement::declare(CLI::App& app, Placement& placement) {
  app.add_option("--ranks", ranks_, "ranks on this host (default 2)")->check(CLI::Range(2, 4096));
  app.add_flag("--testbed", placement.on_testbed, "run on the hosts of scripts/testbed");
  app.add_option("--hosts", hosts_, "hosts of the testbed (default 4)")->check(CLI::PositiveNumber);
  app.add_option("--ranks-per-host", ranks_per_host_, "ranks per host of the testbed (default 2)")
      ->check(CLI::PositiveNumber);
  accept_deprecated(app, "--deal", "--map-by");
  app.add_option("--map-by", map_by_,
                 "mapping of ranks to hosts: slot (consecutive ranks on one host) or node "
                 "(round-robin)")
      ->check(CLI::IsMember({"slot", "node"}));
  app.add_option("--link-gigabits", placement.link_gigabits,
                 "link speed of each testbed host in Gbit/s")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

void TypedPlacement::check(Placement& placement) const {
  if (!placement.on_testbed && (hosts_ > 1 || ranks_per_host_ > 0)) {
    throw ConfigError("DDL-8-30",
                      "--hosts and --ranks-per-host need --testbed; on one host write --ranks N.");
  }
  if (placement.on_testbed && ranks_ > 0) {
    throw ConfigError("DDL-8-30",
                      "On the testbed write --hosts N --ranks-per-host M, not --ranks.");
  }
  placement.hosts = placement.on_testbed ? (hosts_ != 0 ? hosts_ : 4) : 1;
  const int asked = placement.on_testbed ? ranks_per_host_ : ranks_;
  placement.ranks_per_host = asked != 0 ? asked : 2;
  if (placement.ranks() < 2) {
    throw ConfigError("DDL-8-31", "There must be at least 2 ranks.");
  }
  placement.map_by_node = map_by_ == "node";
}

}  // namespace tutti::bench
