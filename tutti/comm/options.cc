#include "tutti/comm/options.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "tutti/core/error.h"

namespace tutti::comm {

namespace {

// Options of operations and their reports.
OptionTable options_of_operations() {
  return {
      {"mode", OptionType::kText, "p",
       "Letter and dimensions, `p:2x2x1x1`: accelerators x nodes x racks x aisles. Letters: p: "
       "measure and choose; b, n: shared memory within a host and ring between hosts; r: ring; m: "
       "collectives of the MPI library; c: recursive halving and doubling. Without dimensions: the "
       "detected ones.",
       "DDL_MODE"},
      {"algorithm", OptionType::kText, "",
       "Names of the algorithms, one per dimension, `direct,ring`; empty: chosen by the mode.",
       "DDL_ALGORITHM"},
      {"lanes", OptionType::kInt, "0",
       "Number of chunks a large vector is pipelined in, to overlap local reduction with network "
       "transfers; 0: chosen by size.",
       "DDL_LANES", 0, 64},
      {"dump_iter", OptionType::kInt, "0",
       "Interval in operations for printing the time per dimension, the algorithm and the slowest "
       "rank; 0: never.",
       "DDL_DUMP_ITER", 0, 1e9},
      {"dbg_level", OptionType::kInt, "0",
       "Log level: 0: quiet; 1: detected topology and chosen algorithms; 2: every operation.",
       "DDL_DBG_LEVEL", 0, 2},
      {"dev_sync", OptionType::kInt, "0",
       "Device synchronisation: 0: none; 1: before communication; 2: before and after; no effect "
       "without devices.",
       "DDL_DEV_SYNC", 0, 2},
      {"rebind_iter", OptionType::kInt, "0",
       "Ignored; accepted for compatibility with existing scripts.", "DDL_REBIND_ITER", 0, 1e9},
      {"check", OptionType::kBool, "0",
       "Verify every reduction against a second one in rank order, and report the rank whose input "
       "contains NaN or Inf.",
       "DDL_CHECK"},
  };
}

// Options of a job: failures, network, files.
OptionTable options_of_jobs() {
  return {
      {"reproducible", OptionType::kBool, "0",
       "Bitwise reproducible results for any message size, bucket layout, algorithm and "
       "dimensions: "
       "reductions are in rank order.",
       "DDL_REPRODUCIBLE"},
      {"timeout", OptionType::kFloat, "600",
       "Timeout in seconds of an operation that waits for another rank.", "DDL_TIMEOUT", 0.1, 1e7},
      {"stall_seconds", OptionType::kFloat, "3",
       "Seconds after which a waiting rank reports the missing ranks and the operation.",
       "DDL_STALL_SECONDS", 0.1, 1e6},
      {"on_failure",
       OptionType::kChoice,
       "error",
       "Action when a rank is lost: `error`: the next call of the other ranks fails; `abort`: also "
       "ends a process that makes no call within two seconds.",
       "DDL_ON_FAILURE",
       0,
       0,
       {"error", "abort"}},
      {.name = "keepalive",
       .type = OptionType::kBool,
       .default_value = "1",
       .help =
           "Keep an idle TCP connection to the next host, to detect the death of a remote process "
           "immediately.",
       .environment = "DDL_KEEPALIVE",
       .aliases = {"lifeline"},
       .environment_aliases = {"DDL_LIFELINE"}},
      {"wire",
       OptionType::kChoice,
       "auto",
       "Messages between hosts: `tcp`: TCP connections of Tutti; `transport`: the library of the "
       "launcher; `auto`: tcp under MPI if no host has a fabric such as InfiniBand.",
       "DDL_WIRE",
       0,
       0,
       {"auto", "tcp", "transport"}},
      {"interface", OptionType::kText, "",
       "Network interfaces that this host advertises to other hosts, `eth0,eth1`; empty: all, "
       "those "
       "in a common network first, by speed.",
       "DDL_INTERFACE"},
      {"eager_bytes", OptionType::kBytes, "1KiB",
       "Largest message reduced with the eager shared-memory protocol.", "DDL_EAGER_BYTES", 0,
       32768},
      {"run_folder", OptionType::kText, "",
       "Directory for events, flight records and traces; empty: ./tutti-run-<process>, created "
       "on a failure or for a trace; `none`: write nothing.",
       "TUTTI_RUN_FOLDER"},
      {"flight_signal", OptionType::kBool, "1",
       "Also write the flight record on SIGUSR1, unless the program handles that signal.",
       "TUTTI_FLIGHT_SIGNAL"},
      {"trace", OptionType::kBool, "0",
       "Write every operation to a trace file in the run directory.", "TUTTI_TRACE"},
      {"tuning_cache", OptionType::kText, "",
       "Directory that caches the measured choices; empty: ~/.cache/tutti; `none`: no cache.",
       "TUTTI_TUNING_CACHE"},
      {"tune_seconds", OptionType::kFloat, "1.5",
       "Time limit in seconds for the measurements of mode p at the start of a job that is not in "
       "the cache, a tenth of it on one host; 0: use only the cost model.",
       "TUTTI_TUNE_SECONDS", 0, 600},
  };
}

}  // namespace

const OptionTable& comm_options() {
  static const OptionTable table = [] {
    OptionTable all = options_of_operations();
    const OptionTable more = options_of_jobs();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return table;
}

void apply_option_string(Options& options, std::string_view text, std::string_view source) {
  std::istringstream words{std::string(text)};
  std::string word;
  while (words >> word) {
    const std::size_t dashes = word.find_first_not_of('-');
    std::string value;
    if (dashes == 0 || dashes == std::string::npos || !(words >> value)) {
      throw ConfigError("DDL-1-05",
                        fmt::format("The option string ends at '{}'. Write pairs: -mode p:2x2x1x1 "
                                    "-dump_iter 100.",
                                    word));
    }
    options.set(word.substr(dashes), value, source);
  }
}

Options environment_options() {
  Options options(comm_options());
  if (const char* text = std::getenv("DDL_OPTIONS")) {
    apply_option_string(options, text, "DDL_OPTIONS");
  }
  return options;
}

}  // namespace tutti::comm
