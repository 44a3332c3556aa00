// Mode p: finds out by trying, at the start of a job, what the model can only guess.
//
// For each size class the choices that the model holds for possible are run between all ranks,
// the likeliest first; the slowest rank's time counts, so all ranks know the same and decide the
// same. What is three times slower than the best at its first try is not tried again; no size is
// begun that would not fit the time left. On one host the size decides, and the largest vector of
// host_eager is found the same way. The answer goes to a file; the next job on such machines reads
// it, and measures again where the machine was busy then and is not now.
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

// The communicator of all ranks, as the tuner sees it. All of it must outlive the call.
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
  // Every rank's bytes, by rank. Collective.
  std::function<std::vector<std::string>(const std::string& mine)> exchange;
  // Runs a collective; throws its failure.
  std::function<void(const Operation&)> perform;
};

// Sets planner, grid and links. Returns where the choices come from,
// as human-readable text. Collective. Does nothing and returns nothing where the options leave
// nothing to find out: tune 0, a mode other than p, reproducible reductions, one rank.
std::string tune(const TunerContext& context);

}  // namespace tutti::comm
