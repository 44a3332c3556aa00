// What a choice should cost: T = steps x latency + bytes x seconds per byte, line by line.
#pragma once

#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/choice.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// Bytes of the whole: the vector, all pieces, or what one rank sends in all_to_all.
double bytes_of(const Request& request);

// Seconds of one rank, from the links of the grid; lanes let memory and network overlap. Throws
// ConfigError when the choice cannot be carried out.
double predict(const topo::Grid& grid, const Request& request, const Choice& choice);

}  // namespace tutti::plan
