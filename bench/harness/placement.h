// Where the ranks of a benchmark run, and the part of its command line that says so.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tutti::bench {

struct Placement {
  int hosts = 1;
  int ranks_per_host = 2;
  bool on_testbed = false;    // hosts are those of scripts/testbed
  bool deal_by_node = false;  // neighbouring ranks on different hosts
  double link_gigabits = 1;   // of each host on the testbed
  int ranks() const { return hosts * ranks_per_host; }
};

// The command line as it was typed, before it is checked.
class TypedPlacement {
 public:
  // Both must stay while the command line is read.
  void declare(CLI::App& app, Placement& placement);
  // Throws ConfigError that says what to write instead.
  void check(Placement& placement) const;

 private:
  int ranks_ = 0, hosts_ = 0, ranks_per_host_ = 0;
  std::string deal_ = "slot";
};

}  // namespace tutti::bench
