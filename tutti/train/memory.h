// Whether a run fits into the memory of its host, before it has taken hours to find out.
#pragma once

#include "tutti/core/options.h"
#include "tutti/train/task.h"

namespace tutti::train {

// What one rank needs, in bytes.
struct MemoryNeed {
  double fixed = 0;   // weights, gradients, what the update rule remembers, a checkpoint of all
  double sample = 0;  // for each sample of a batch; 0: not known
  double of(double batch) const { return fixed + batch * sample; }
};
MemoryNeed memory_need(Task& task, const Options& options);

// Throws ConfigError when `ranks` ranks of a host that has `free` bytes need more at this batch. It
// says what would fit: a smaller batch, fewer ranks.
void check_need(const MemoryNeed& need, std::int64_t batch, int ranks, double free);

// The same for the ranks of each host of the communicator, unless `check_memory` is off or the task
// does not know. Collective; throws the same on every rank.
void check_memory(Task& task, comm::Communicator& communicator, const Options& options);

}  // namespace tutti::train
