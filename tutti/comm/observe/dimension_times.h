// Time spent in the steps of a plan, by dimension of the process grid.
#pragma once

#include <array>
#include <cstdint>

namespace tutti::comm {

// Lanes overlap, so the sum over dimensions may exceed the duration of the operation.
struct DimensionTimes {
  std::array<std::int64_t, 8> nanoseconds{};
};

}  // namespace tutti::comm
