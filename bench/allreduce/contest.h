// Measurement of several systems in turns, so disturbances of the machine affect all of them equally.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/allreduce/settings.h"
#include "bench/harness/interrupt.h"
#include "bench/harness/statistics.h"
#include "bench/harness/worker_group.h"

namespace tutti::bench {

// A row of the comparison: a system and the kind of memory of its buffers.
struct Entrant {
  std::string system, memory;
  std::shared_ptr<WorkerGroup> group;
};

// Results: seconds per operation by entrant and size, and the systems that were skipped or failed.
struct Outcome {
  struct Key {
    std::string system, memory;
    std::int64_t bytes;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, Summary> seconds;
  std::vector<std::string> skipped;   // one message each
  std::vector<std::string> failures;  // one message each, with the last lines of the workers
  std::size_t sizes = 0;              // sizes that all entrants completed
  int signal = 0;                     // signal that interrupted the run; 0: none

  const Summary* find(const std::string& system, const std::string& memory,
                      std::int64_t bytes) const;
};

// Starts every system of `settings` and measures all sizes, ascending. Each size has several rounds. In a round every
// entrant has one turn (check, warm-up, then batches) while the others sleep; each round starts with another entrant.
// The time of a batch is that of its slowest rank divided by the number of operations. On Ctrl-C the completed sizes
// are returned; Interrupted is thrown if there are none. A system that fails is excluded from then on and listed in
// `failures`.
Outcome run_contest(const AllreduceSettings& settings, const InterruptScope& interrupt);

}  // namespace tutti::bench
