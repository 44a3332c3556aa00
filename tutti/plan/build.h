// The way in: from what is asked and chosen to the steps of one rank.
#pragma once

#include "tutti/plan/choice.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// The plan of `rank`. Pure: every rank builds its own with the same grid, request (but for the
// counts of all_to_all) and choice, and the plans fit together. Throws ConfigError when the request
// is not sound (a root that does not exist, counts for other than all ranks) or the choice cannot
// be carried out.
Plan build(const topo::Grid& grid, const Request& request, const Choice& choice, int rank);

}  // namespace tutti::plan
