// What `tutti bench allreduce` was asked to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::bench {

struct AllreduceSettings {
  int hosts = 1;
  int ranks_per_host = 2;
  int ranks() const { return hosts * ranks_per_host; }

  std::vector<std::int64_t> sizes;  // bytes, ascending
  std::vector<std::string> peers;   // names in the table of systems.cc
  std::vector<std::string> memory;  // "library", "foreign": where our own buffers lie
  bool on_testbed = false;          // hosts are those of scripts/testbed
  bool deal_by_node = false;        // neighbouring ranks on different hosts
  double link_gigabits = 1;         // of each host on the testbed

  std::string json, plot;  // files to write, empty for none
  bool append = false;     // keep the rows that the JSON file has
  bool plot_time = false;  // time instead of bandwidth
  bool is_quick = false;
  double timeout = 120;  // seconds for one turn of one system
};

// Reads the command line. Returns false when only help was asked for (and printed).
// Throws ConfigError that says what to write instead.
bool parse_allreduce(int argc, char** argv, AllreduceSettings& settings);

}  // namespace tutti::bench
