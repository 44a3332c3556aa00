// Autotuner of mode p: measures at the start of a job which algorithms are fastest.
//
// 1. Rank 0 reads the tuning file for this kind of machine and sends it to all ranks. A valid file is used as it is,
//    unless it was measured on a busy machine that is now much less busy.
// 2. Otherwise all ranks measure. For each size class, from 1 KiB to 32 MiB, the candidates of the cost model are run,
//    most promising first. The slowest rank's time counts; it is agreed with an all-reduce, so all ranks make the same
//    decisions.
// 3. A candidate whose first run takes three times as long as the best so far is not repeated. A size class is skipped
//    if it does not fit into the remaining time (option tune_seconds).
// 4. On one host, the largest message of host_eager is determined first, by doubling the size while eager is faster.
// 5. The results set the planner and the link parameters of the cost model; rank 0 writes them to the tuning file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/execution/planner.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/core/options.h"
#include "tutti/topo/grid.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

// The world communicator as seen by the tuner. All references must outlive the call.
struct TunerContext {
  Options& options;
  const topo::Layout& layout;
  topo::Grid& grid;
  topo::LinkTable& links;
  std::string transport;  // its description
  Planner& planner;
  Arena& arena;
  int rank = 0;
  int size = 1;
  // All-gather of one string per rank, by rank. Collective.
  std::function<std::vector<std::string>(const std::string& mine)> exchange;
  // Runs a collective; throws on failure.
  std::function<void(const Operation&)> perform;
};

// Sets planner, grid and links. Returns the origin of the settings as human-readable text. Collective. Does nothing and
// returns an empty string if there is nothing to measure: tune_seconds 0, a mode other than p, reproducible reductions,
// or one rank.
std::string tune(const TunerContext& context);

}  // namespace tutti::comm
