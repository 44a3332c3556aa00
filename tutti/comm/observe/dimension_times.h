// Time that the steps of a plan took, by dimension of the grid.
#pragma once

#include <array>
#include <cstdint>

namespace tutti::comm {

// Time spent in steps of one dimension, and whom the rank waited for longest. Lanes overlap, so the
// sum over dimensions may exceed the time of the operation.
struct DimensionTimes {
  std::array<std::int64_t, 8> nanoseconds{};
  int last_rank = -1;
  std::int64_t waited_for_last = 0;
};

}  // namespace tutti::comm
