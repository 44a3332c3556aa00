// Scores before the first round of boosting.
#pragma once

#include <vector>

#include "tutti/learn/tree/objective.h"
#include "tutti/learn/tree/targets.h"

namespace tutti::comm {
class Communicator;
}
namespace tutti::learn {
class Threads;
}

namespace tutti::learn::tree {

// Returns the constant scores that minimise the loss of the objective on the rows of all ranks, one per output. Bitwise
// identical for any distribution of the rows over ranks.
std::vector<double> base_scores(const Objective& objective, const Targets& targets,
                                Threads& threads, comm::Communicator* communicator);

}  // namespace tutti::learn::tree
