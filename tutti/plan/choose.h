// Which algorithm for which dimension: by option, by measurement, or by the cost model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/plan/choice.h"
#include "tutti/plan/mode.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// How long a choice took (choice.seconds) for so many bytes; what mode p finds out.
struct Measurement {
  Collective collective = Collective::kAllReduce;
  std::int64_t bytes = 0;
  Choice choice;
};

// What the user insists on; zeros leave it to us.
struct Override {
  Mode mode = {};
  int lanes = 0;
};

// Pure and the same on all ranks when they pass the same. An algorithm of the mode that cannot do
// this collective gives way to the best that can, and the reason says so; one that can never stand
// where it is put throws ConfigError. Measurements of the same size class (power of two) decide
// first; between measured sizes the model compares the winners on both sides.
Choice choose(const topo::Grid& grid, const Request& request,
              std::span<const Measurement> measured = {}, const Override& override = {});

}  // namespace tutti::plan
