// Memory check before training starts.
#pragma once

#include "tutti/core/options.h"
#include "tutti/train/task.h"

namespace tutti::train {

// Memory of one rank in bytes.
struct MemoryNeed {
  double fixed = 0;   // weights, gradients, optimizer state, a checkpoint of all
  double sample = 0;  // per sample of a batch; 0: unknown
  double of(double batch) const { return fixed + batch * sample; }
};
MemoryNeed memory_need(Task& task, const Options& options);

// Throws ConfigError if `ranks` ranks of a host with `free` bytes need more at this batch size. The message names a
// batch size and a number of ranks that fit.
void check_need(const MemoryNeed& need, std::int64_t batch, int ranks, double free);

// The same for the ranks of each host of the communicator, unless `check_memory` is off or the task does not report its
// memory. Collective; throws the same on every rank.
void check_memory(Task& task, comm::Communicator& communicator, const Options& options);

}  // namespace tutti::train
