// Several systems measured in turns, so that what disturbs the machine disturbs all of them alike.
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

// One line of the comparison: a system and the kind of memory its buffers lie in.
struct Entrant {
  std::string system, memory;
  std::shared_ptr<WorkerGroup> group;
};

// What the run has to say: seconds per operation by entrant and size, and what did not take part or
// fell out.
struct Outcome {
  struct Key {
    std::string system, memory;
    std::int64_t bytes;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, Summary> seconds;
  std::vector<std::string> skipped;   // sentences
  std::vector<std::string> failures;  // sentences with the workers' last lines
  std::size_t sizes = 0;              // that all entrants went through
  int signal = 0;                     // that ended it before the last one

  const Summary* find(const std::string& system, const std::string& memory,
                      std::int64_t bytes) const;
};

// Starts every system of `settings` and measures all sizes, ascending. Each size goes through
// rounds; in a round every entrant has one turn (checked, warmed up, then some batches) while the
// others sleep, and each round starts with another entrant. The time of a batch is that of its
// slowest rank divided by the operations in it. Ctrl-C ends it after the sizes that are there, and
// throws Interrupted when there are none; a system that fails is left out from then on and told in
// `failures`.
Outcome run_contest(const AllreduceSettings& settings, const InterruptScope& interrupt);

}  // namespace tutti::bench
