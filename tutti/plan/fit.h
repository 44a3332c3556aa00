// Calibration of the cost model's links from measured times.
#pragma once

#include <span>

#include "tutti/plan/choose.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// Returns the grid with links for which the model reproduces the measurements: the fastest time of the smallest size
// (latency) and of the largest size (bandwidth). With several hosts the links between hosts are fitted, otherwise the
// links within the host. All fitted links are scaled by the same factors. Without measurements the grid is returned
// unchanged. Pure function.
topo::Grid fit_links(topo::Grid grid, std::span<const Measurement> measured);

}  // namespace tutti::plan
