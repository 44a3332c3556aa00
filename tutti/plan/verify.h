// Verifier: executes the plans of all ranks together on symbolic values and checks the result.
//
// Used by tests, and for developing new algorithms. It needs no real memory, threads or clock. Ranks and lanes are
// scheduled in random order. A message is delivered only when both sides have reached it (a real transport may buffer),
// and a reduction waits for both directions of its exchange. Each symbolic value records the ranks that contributed to
// it and the order of reductions, so the verifier finds wrong, incomplete and misordered results. It also finds
// deadlocks, data races and accesses outside a lane.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/plan/choice.h"
#include "tutti/plan/plan.h"
#include "tutti/plan/verify_report.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

struct VerifyOptions {
  unsigned seed = 1;  // seed of the schedule of ranks and lanes
  bool in_place = false;
  bool library_memory = true;  // false: kHostAllReduce uses its fallback
};

// Verifies `plans`, one per rank. `requests` holds one request for all ranks, or one per rank (all_to_all). Does not
// throw for a defective plan: see Report::problem.
Report verify(const topo::Grid& grid, const std::vector<Request>& requests,
              const std::vector<Plan>& plans, const VerifyOptions& options = {});

// Builds the plans of all ranks and verifies them.
Report verify(const topo::Grid& grid, const Request& request, const Choice& choice,
              const VerifyOptions& options = {});

}  // namespace tutti::plan
