// Idle intervals that a planner may select.
#pragma once

#include <vector>

#include "tutti/lms/lifetimes.h"
#include "tutti/lms/planner_options.h"

namespace tutti::lms {

struct Candidate {
  int block = 0;
  IdleInterval interval;
  std::int64_t bytes = 0;
  double write_seconds = 0, read_seconds = 0;
  // True if the block needs no transfers, or is idle for longer than its transfers take, so they can overlap with
  // computation.
  bool can_overlap = false;
  double priority = 0;  // selected in descending order
  // Time of the producer if the block can be recomputed at the end of the interval; negative: it cannot.
  double recompute_seconds = -1;
};

// All intervals that the options allow, ascending by last_use. Wherever the step needs more than its minimum budget, at
// least one of them covers that point.
std::vector<Candidate> candidates_of(const Trace& trace, const std::vector<Lifetime>& lifetimes,
                                     const PlannerOptions& options);

// Start of an operator in seconds; operators of the next step follow after the end of this one.
double start_time(const Trace& trace, int op);

}  // namespace tutti::lms
