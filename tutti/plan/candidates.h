// Choices that are worth measuring for a request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tutti/plan/choice.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// All that is worth measuring for this request, the cheapest by the model first.
std::vector<Choice> candidates(const topo::Grid& grid, const Request& request);

// An all_reduce of ranks that share the memory of one host: one step of one row, by size alone.
bool reduces_on_host(const topo::Grid& grid, const Request& request);
// The row for all ranks of one host.
std::string row_on_host(const topo::Grid& grid, const Request& request);

// One below 1 MiB, then chunks of 1 to 4 MiB, 16 at most.
int default_lanes(double bytes);

// Sets what the algorithms leave open: lanes and rails.
Choice with_defaults(const topo::Grid& grid, const Request& request, Choice choice);

// As `predict`; none when the choice cannot be carried out.
std::optional<double> try_predict(const topo::Grid& grid, const Request& request,
                                  const Choice& choice);

}  // namespace tutti::plan
