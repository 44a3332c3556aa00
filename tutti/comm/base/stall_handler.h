// What a rank asks when it has waited longer than usual.
#pragma once

#include <cstdint>

#include "tutti/core/result.h"

namespace tutti::comm {

// Asked every few milliseconds by whoever waits. Success: wait on. Failure: the operation ends with
// it, because a rank is gone, ranks disagree, or the time-out has passed. May print, on the way,
// who is missing.
class StallHandler {
 public:
  static constexpr std::int64_t kInterval = 20'000'000;  // ns between two questions
  virtual ~StallHandler() = default;
  // `rank` (of the communicator; -1: several) has not done its part for `waited` nanoseconds.
  virtual Result on_stall(int rank, std::int64_t waited) = 0;
};

}  // namespace tutti::comm
