// Options of the planner as values.
#pragma once

#include <cstdint>

#include "tutti/core/options.h"
#include "tutti/lms/simulator.h"

namespace tutti::lms {

struct PlannerOptions {
  std::int64_t budget = 0;  // bytes
  Tier tier = {};
  MovableBlocks movable = {};
  bool recomputes = true;          // recompute blocks where that is faster than swapping
  bool prefers_recompute = false;  // recompute wherever possible
  bool compacts = true;            // use the codecs of the blocks
  double fraction = 1;             // of the budget that the plan uses
  // In operators; -1: chosen by cost.
  int swapout_threshold = -1, swapin_ahead = -1, swapin_groupby = -1;
  int sync_mode = 0;      // bit 0: synchronous writes, bit 1: synchronous reads
  bool autotunes = true;  // search for the best headroom

  SimulatorOptions simulator(bool records_curve = false) const {
    return {budget, tier, movable, records_curve};
  }
};

// The values of lms_options() that concern the planner.
PlannerOptions planner_options(const Options& options, std::int64_t budget, const Tier& tier);

}  // namespace tutti::lms
