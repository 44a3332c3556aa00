// Mode p: finds out by trying, at the start of a job, what the model can only guess.
//
// For each size class the choices that the model holds for possible are run between all ranks,
// the likeliest first; the slowest rank's time counts, so all ranks know the same and decide the
// same. What is three times slower than the best at its first try is not tried again; no size is
// begun that would not fit the time left. On one host there is one choice, and the eager limit of
// the host group is found the same way. The answer goes to a file; the next job on such machines
// reads it, and measures
// again where the machine was busy then and is not now.
#pragma once

#include <string>

#include "tutti/comm/internal/state.h"
#include "tutti/comm/internal/tuning.h"

namespace tutti::comm {

// Collective over the world communicator. Does nothing where the options leave nothing to find out:
// tune 0, a mode other than p, reproducible folds, one rank.
void tune(Communicator& communicator, Communicator::State& state);

}  // namespace tutti::comm
