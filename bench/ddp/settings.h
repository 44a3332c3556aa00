// What `tutti bench ddp` was asked to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::bench {

struct DdpSettings {
  int hosts = 1;
  int ranks_per_host = 2;
  int ranks() const { return hosts * ranks_per_host; }

  std::vector<std::int64_t> sizes;                                // of the all-reduce alone, bytes
  std::vector<std::string> models = {"resnet18", "hep", "wide"};  // names in worker_ddp.py
  bool on_testbed = false;
  bool deal_by_node = false;  // neighbouring ranks on different hosts
  double link_gigabits = 1;
  std::string json;
  bool append = false;
  bool is_quick = false;
  double timeout = 120;  // seconds for one turn
};

// Reads the command line. Returns false when only help was asked for (and printed).
// Throws ConfigError that says what to write instead.
bool parse_ddp(int argc, char** argv, DdpSettings& settings);

}  // namespace tutti::bench
