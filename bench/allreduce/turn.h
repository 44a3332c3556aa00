// One turn of one system: how long it is, and taking it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/worker_group.h"

namespace tutti::bench {

// How much is measured.
struct Effort {
  int rounds, batches;
  double batch_seconds;
};

// How many operations make a batch of this entrant at this size.
struct Turn {
  int warmup = 1, iterations = 1, batches = 1;
};

// Seconds per operation of each batch, of the slowest rank. Throws like WorkerGroup::ask.
std::vector<double> take_turn(WorkerGroup& group, const std::string& memory, std::int64_t bytes,
                              const Turn& turn, double timeout);

// Times a few operations, then more, until a batch is long enough for the clock and the scheduler
// not to matter.
Turn calibrate(WorkerGroup& group, const std::string& memory, std::int64_t bytes,
               const Effort& effort, double timeout);

}  // namespace tutti::bench
