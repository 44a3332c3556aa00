// Planner: chooses which blocks are swapped or recomputed to keep a step within a budget.
//
// 1. Selection. The planner walks through the memory curve of the trace. Wherever it exceeds the target, it selects
//    idle intervals that cover this point, those with the farthest next use per cost first (Belady's rule), until the
//    curve fits. Intervals too short for a write and a read are selected last. Selections that later ones have made
//    unnecessary are dropped.
// 2. Triggers. Writes start after the last use. Reads are scheduled backwards from their uses through a FIFO queue with
//    the measured bandwidth, each as late as possible. A read that would exceed the budget starts later.
// 3. Search. Prefetched blocks need memory. The target is therefore the budget minus a headroom, and the simulator
//    selects the headroom with the shortest step.
// 4. Recomputation. Swaps whose transfers take longer than the operators that produce the content (recompute.h) are
//    replaced by recomputation if the simulated step becomes shorter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/lms/plan.h"
#include "tutti/lms/planner_options.h"
#include "tutti/lms/trace.h"

namespace tutti::lms {

// Throws MemoryError (DDL-5-63) if no plan can exist. The message names the operator with the largest working set and
// the smallest budget that works.
void check_budget(const Trace& trace, const PlannerOptions& options);

// Plans one step; calls check_budget(). The plan is empty if everything fits. Takes less than a second for 10,000
// blocks. Equal arguments produce equal plans.
Plan make_plan(const Trace& trace, const PlannerOptions& options);

// Time that operator `next_use` waited for the planned read of a block, as observed by the runtime.
struct Lateness {
  int block = 0, next_use = 0;
  double seconds = 0;
};

// Starts late reads earlier, by 1.25 times the observed wait, but not before the block has been written.
void advance_reads(Plan& plan, const Trace& trace, const std::vector<Lateness>& observed);

}  // namespace tutti::lms
