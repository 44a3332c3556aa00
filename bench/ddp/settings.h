// Command line of `tutti bench ddp`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/placement.h"
#include "bench/harness/row_file.h"

namespace tutti::bench {

struct DdpSettings : Placement {
  std::vector<std::int64_t> sizes;                                // of the all-reduce alone, bytes
  std::vector<std::string> models = {"resnet18", "hep", "wide"};  // names in worker_ddp.py
  RowFile row_file;
  bool is_quick = false;
  double timeout = 120;  // seconds for one turn
};

// Reads the command line. Returns false if only help was requested (and printed). Throws ConfigError if it is invalid.
bool parse_ddp(int argc, char** argv, DdpSettings& settings);

}  // namespace tutti::bench
