// Cost model: T = steps x latency + bytes x seconds per byte, summed over the dimensions.
#pragma once

#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/choice.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// Message size of a request in bytes: the vector, the sum of all pieces, or the data one rank sends in all_to_all.
double bytes_of(const Request& request);

// Returns the predicted time of one rank in seconds, from the links of the grid. With several lanes, memory and network
// phases overlap. Throws ConfigError if the choice cannot be carried out.
double predict(const topo::Grid& grid, const Request& request, const Choice& choice);

}  // namespace tutti::plan
