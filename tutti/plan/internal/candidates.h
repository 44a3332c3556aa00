// What `choose` and `candidates` share.
#pragma once

#include <optional>

#include "tutti/plan/choice.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

// Sets what the algorithms leave open: lanes and rails.
Choice with_defaults(const topo::Grid& grid, const Request& request, Choice choice);

// As `predict`; none when the choice cannot be carried out.
std::optional<double> try_predict(const topo::Grid& grid, const Request& request,
                                  const Choice& choice);

}  // namespace tutti::plan
