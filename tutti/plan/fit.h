// From measured times to the links of the cost model.
#pragma once

#include <span>

#include "tutti/plan/choose.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// The grid with links for which the model gives what was measured: the fastest of the smallest
// size, where latency decides, and of the largest, where bandwidth does. With several hosts the
// links between them are fitted, with one those in memory; all of them by the same factors. Without
// measurements the grid is as it was. Pure.
topo::Grid fit_links(topo::Grid grid, std::span<const Measurement> measured);

}  // namespace tutti::plan
