// Settings of `tutti bench allreduce`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/placement.h"
#include "bench/harness/row_file.h"

namespace tutti::bench {

struct AllreduceSettings : Placement {
  std::vector<std::int64_t> sizes;     // bytes, ascending
  std::vector<std::string> baselines;  // names in the table of systems.cc
  std::vector<std::string> memory;     // of Tutti's buffers: "library", "caller"

  RowFile row_file;
  std::string plot;        // file to write; empty: none
  bool plot_time = false;  // time instead of bandwidth
  bool is_quick = false;
  double timeout = 120;  // seconds per turn of one system
};

// Parses the command line. Returns false if only help was requested (and printed). Throws ConfigError if it is invalid.
bool parse_allreduce(int argc, char** argv, AllreduceSettings& settings);

}  // namespace tutti::bench
