// Callback for a rank that is blocked waiting for its peers.
#pragma once

#include <cstdint>

#include "tutti/core/result.h"

namespace tutti::comm {

// Called about every 20 ms (kInterval) while the wait lasts. Returning ok continues the wait. Returning a failure
// aborts the operation with it: a peer has died, the ranks disagree on the operation, or the timeout has expired. An
// implementation may log the missing ranks.
class StallHandler {
 public:
  static constexpr std::int64_t kInterval = 20'000'000;  // ns between two calls
  virtual ~StallHandler() = default;
  // `rank` (of the communicator; -1: several) has not done its part for `waited` nanoseconds.
  virtual Result on_stall(int rank, std::int64_t waited) = 0;
};

}  // namespace tutti::comm
