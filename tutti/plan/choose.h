// Selection of an algorithm per dimension: by option, by measurement, or by the cost model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/plan/choice.h"
#include "tutti/plan/mode.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// Measured time (choice.seconds) of a choice for a message of `bytes` bytes, as recorded by tuning runs (mode p).
struct Measurement {
  Collective collective = Collective::kAllReduce;
  std::int64_t bytes = 0;
  Choice choice;
};

// Settings fixed by the user; 0 or empty: chosen automatically.
struct Override {
  Mode mode = {};
  int lanes = 0;
};

// Selects the choice for a request. Pure function; all ranks that pass the same arguments get the same choice.
//
// - A mode in `override` takes precedence. If one of its algorithms does not support this collective, the best one that
//   does is used, and `reason` says so. An algorithm in a position where it can never run throws ConfigError.
// - Otherwise, for an all_reduce on one host, the message size decides between host_eager and host_direct.
// - Otherwise measurements of the same size class (power of two) decide. Between measured sizes, the cost model
//   compares the winners of the nearest sizes below and above.
// - Without measurements, and for reproducible requests, the cost model decides.
Choice choose(const topo::Grid& grid, const Request& request,
              std::span<const Measurement> measured = {}, const Override& override = {});

}  // namespace tutti::plan
