// Candidate choices for a request, for tuning runs and for the cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tutti/plan/choice.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// Returns all choices worth measuring for this request, ordered by predicted time, the fastest first.
std::vector<Choice> candidates(const topo::Grid& grid, const Request& request);

// Returns true for an all_reduce whose ranks all share the memory of one host. Its plan is a single step, and the
// message size alone selects the protocol.
bool reduces_on_host(const topo::Grid& grid, const Request& request);
// Returns the algorithm for ranks that share one host: host_eager or host_direct, by message size, if
// reduces_on_host(grid, request); otherwise `direct`.
std::string row_on_host(const topo::Grid& grid, const Request& request);

// Returns the default number of lanes: one below 1 MiB, then chunks of 1 to 4 MiB, at most 16 lanes.
int default_lanes(double bytes);

// Returns `choice` with lanes and rails filled in.
Choice with_defaults(const topo::Grid& grid, const Request& request, Choice choice);

// Like `predict`, but returns nullopt if the choice cannot be carried out.
std::optional<double> try_predict(const topo::Grid& grid, const Request& request,
                                  const Choice& choice);

}  // namespace tutti::plan
