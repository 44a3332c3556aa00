// Plan construction: turns a request and a choice of algorithms into the steps of one rank.
#pragma once

#include "tutti/plan/choice.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// Returns the plan of `rank`. Pure function. Every rank builds its own plan from the same grid, choice and request
// (only the counts of all_to_all may differ), and the plans of all ranks match. Throws ConfigError if the request is
// invalid (the root is out of range, `counts` does not have one entry per rank) or if the choice cannot be carried out.
Plan build(const topo::Grid& grid, const Request& request, const Choice& choice, int rank);

}  // namespace tutti::plan
