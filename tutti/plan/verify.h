// Runs the plans of all ranks together, without memory, threads or time, and says whether they are
// right: for tests, and for whoever invents an algorithm.
//
// Ranks and lanes take turns at random. A message is only through when both sides have come to it
// (a transport may be kinder), a fold waits for both directions of its exchange. Values are
// symbols: who brought them, in what order they were folded.
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
  unsigned seed = 1;  // of the order in which ranks and lanes take turns
  bool in_place = false;
  bool library_memory = true;  // false: kHostAllReduce takes its fallback
};

// `requests` holds one for all ranks, or one per rank (all_to_all); `plans` one per rank.
Report verify(const topo::Grid& grid, const std::vector<Request>& requests,
              const std::vector<Plan>& plans, const VerifyOptions& options = {});

// Builds the plans of all ranks and verifies them.
Report verify(const topo::Grid& grid, const Request& request, const Choice& choice,
              const VerifyOptions& options = {});

}  // namespace tutti::plan
