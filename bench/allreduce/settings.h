// What `tutti bench allreduce` was asked to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/placement.h"
#include "bench/harness/row_file.h"

namespace tutti::bench {

struct AllreduceSettings : Placement {
  std::vector<std::int64_t> sizes;  // bytes, ascending
  std::vector<std::string> peers;   // names in the table of systems.cc
  std::vector<std::string> memory;  // "library", "foreign": where our own buffers lie

  RowFile row_file;
  std::string plot;        // file to write, empty for none
  bool plot_time = false;  // time instead of bandwidth
  bool is_quick = false;
  double timeout = 120;  // seconds for one turn of one system
};

// Reads the command line. Returns false when only help was asked for (and printed).
// Throws ConfigError that says what to write instead.
bool parse_allreduce(int argc, char** argv, AllreduceSettings& settings);

}  // namespace tutti::bench
