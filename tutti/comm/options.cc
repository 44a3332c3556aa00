#include "tutti/comm/options.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "tutti/core/error.h"

namespace tutti::comm {

namespace {

// What is done, and what is told about it.
OptionTable options_of_operations() {
  return {
      {"mode", OptionType::kText, "p",
       "Letter and dimensions, `p:2x2x1x1`: accelerators x nodes x racks x aisles. Letters: p "
       "measure and choose, b and "
       "n shared memory inside a host and ring outside, r ring, m the MPI library's collectives, c "
       "recursive halving "
       "and doubling. Without dimensions they are found.",
       "DDL_MODE"},
      {"algorithm", OptionType::kText, "",
       "Algorithm per dimension by name, `direct,ring`; overrides the mode's choice.",
       "DDL_ALGORITHM"},
      {"lanes", OptionType::kInt, "0",
       "Chunks that a large vector is cut into, so that memory and network work at the same time; "
       "0: by size.",
       "DDL_LANES", 0, 64},
      {"dump_iter", OptionType::kInt, "0",
       "Every so many operations print the time per dimension, the algorithm and the rank that was "
       "last; 0: never.",
       "DDL_DUMP_ITER", 0, 1e9},
      {"dbg_level", OptionType::kInt, "0",
       "0 quiet, 1 what was found and chosen, 2 every operation.", "DDL_DBG_LEVEL", 0, 2},
      {"dev_sync", OptionType::kInt, "0",
       "Wait for the device never (0), before (1), before and after (2) communication; no effect "
       "without devices.",
       "DDL_DEV_SYNC", 0, 2},
      {"rebind_iter", OptionType::kInt, "0", "Accepted for existing scripts and ignored.",
       "DDL_REBIND_ITER", 0, 1e9},
      {"check", OptionType::kBool, "0",
       "Reduce every result a second time in fixed order and compare; trace NaN and Inf to the "
       "rank that brought them.",
       "DDL_CHECK"},
  };
}

// How ranks rely on each other, reach each other, and what is kept.
OptionTable options_of_jobs() {
  return {
      {"reproducible", OptionType::kBool, "0",
       "The same bits whatever the size, bucket layout, algorithm or dimensions: everything is "
       "folded in rank order.",
       "DDL_REPRODUCIBLE"},
      {"timeout", OptionType::kFloat, "600",
       "Seconds after which an operation that misses a rank fails.", "DDL_TIMEOUT", 0.1, 1e7},
      {"stall_seconds", OptionType::kFloat, "3",
       "Seconds after which a waiting rank says who is missing, in which operation.",
       "DDL_STALL_SECONDS", 0.1, 1e6},
      {"on_failure",
       OptionType::kChoice,
       "error",
       "When a rank is lost: `error` fails the next call of the others, `abort` also ends a "
       "process that does not call "
       "within two seconds.",
       "DDL_ON_FAILURE",
       0,
       0,
       {"error", "abort"}},
      {"lifeline", OptionType::kBool, "1",
       "Keep a silent TCP connection from host to host, by which a dead one is noticed at once.",
       "DDL_LIFELINE"},
      {"wire",
       OptionType::kChoice,
       "auto",
       "How messages travel between hosts: `tcp` by our own connections, `transport` as the "
       "launcher's library does it; `auto`: tcp under MPI where no host has a fabric such as "
       "InfiniBand.",
       "DDL_WIRE",
       0,
       0,
       {"auto", "tcp", "transport"}},
      {"interface", OptionType::kText, "",
       "Network interfaces that other hosts shall use to reach this one, `eth0,eth1`; empty: those "
       "in a network with them first, the fastest of these first.",
       "DDL_INTERFACE"},
      {"eager_bytes", OptionType::kBytes, "1KiB",
       "Largest vector that is reduced through the slots of the board, without slices.",
       "DDL_EAGER_BYTES", 0, 32768},
      {"run_folder", OptionType::kText, "",
       "Folder for events, flight records and traces; empty: ./tutti-run-<process>, made "
       "for a failure or a trace; `none`: write nothing.",
       "TUTTI_RUN_FOLDER"},
      {"flight_signal", OptionType::kBool, "1",
       "Write the flight record on SIGUSR1 too, unless the program has its own use for it.",
       "TUTTI_FLIGHT_SIGNAL"},
      {"trace", OptionType::kBool, "0", "Write every operation to a trace file in the run folder.",
       "TUTTI_TRACE"},
      {"tuning_cache", OptionType::kText, "",
       "Folder of measured choices; empty: ~/.cache/tutti; `none`: do not keep "
       "them.",
       "TUTTI_TUNING_CACHE"},
      {"tune_seconds", OptionType::kFloat, "1.5",
       "Longest time that mode p measures at the start of a job for which the cache has nothing, a "
       "tenth of it on one host; 0: neither measure nor read the cache, only predict.",
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
      throw ConfigError(
          "DDL-1-05",
          fmt::format("The option string breaks off at '{}'. Write pairs: -mode p:2x2x1x1 "
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
