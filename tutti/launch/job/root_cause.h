// Attribution of the failure of a job to one rank.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::launch {

struct RankFailure {
  int rank = 0;
  int code = 0, signal = 0;
  bool is_lost = false;      // its connection broke before it ended
  std::int64_t when_ns = 0;  // in one clock for all ranks
};

// The rank that failed first. Its peers notice its end at once and often exit before the agent of
// the failed rank has been scheduled, so times alone mislead. A rank that was killed or crashed, or
// whose host was lost, therefore takes precedence over ranks that exited up to 0.5 s before: only
// the latter can be a reaction to the loss of a peer. `failures` must not be empty.
const RankFailure& root_cause(const std::vector<RankFailure>& failures);

}  // namespace tutti::launch
