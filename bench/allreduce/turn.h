// One turn of one system: its length, and its execution.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/worker_group.h"

namespace tutti::bench {

// Amount of measurement.
struct Effort {
  int rounds, batches;
  double batch_seconds;
};

// Operations of one turn of an entrant at one size: of the warm-up, of a batch, and number of batches.
struct Turn {
  int warmup = 1, iterations = 1, batches = 1;
};

// Returns the seconds per operation of each batch, for the slowest rank. Throws like WorkerGroup::ask.
std::vector<double> take_turn(WorkerGroup& group, const std::string& memory, std::int64_t bytes,
                              const Turn& turn, double timeout);

// Increases the number of operations until a batch is long enough for clock and scheduler effects to be negligible.
Turn calibrate(WorkerGroup& group, const std::string& memory, std::int64_t bytes,
               const Effort& effort, double timeout);

}  // namespace tutti::bench
