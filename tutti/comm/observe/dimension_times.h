// Time that the steps of a plan took, by dimension of the grid.
#pragma once

#include <array>
#include <cstdint>

namespace tutti::comm {

// Lanes overlap, so the sum over dimensions may exceed the time of the operation.
struct DimensionTimes {
  std::array<std::int64_t, 8> nanoseconds{};
};

}  // namespace tutti::comm
