// Selects the rank that caused the failure of a job.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::launch {

struct RankFailure {
  int rank = 0;
  int code = 0, signal = 0;
  bool is_lost = false;      // its connection broke before it exited
  std::int64_t when_ns = 0;  // one clock for all ranks
};

// Returns the rank that failed first. Peers notice its end at once and often exit before the agent of the failed rank
// is scheduled, so times alone are misleading. A rank that was killed, crashed or lost therefore takes precedence over
// ranks that exited up to 0.5 s before: only the latter can be a reaction to a lost peer. `failures` must not be empty.
const RankFailure& root_cause(const std::vector<RankFailure>& failures);

}  // namespace tutti::launch
