// Placement of the ranks of a benchmark, and its part of the command line.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tutti::bench {

struct Placement {
  int hosts = 1;
  int ranks_per_host = 2;
  bool on_testbed = false;   // hosts are those of scripts/testbed
  bool map_by_node = false;  // consecutive ranks on different hosts
  double link_gigabits = 1;  // of each host on the testbed
  int ranks() const { return hosts * ranks_per_host; }
};

// The placement options as typed, before they are checked.
class TypedPlacement {
 public:
  // Both arguments must stay valid while the command line is read.
  void declare(CLI::App& app, Placement& placement);
  // Throws ConfigError if the options contradict each other.
  void check(Placement& placement) const;

 private:
  int ranks_ = 0, hosts_ = 0, ranks_per_host_ = 0;
  std::string map_by_ = "slot";
};

}  // namespace tutti::bench
