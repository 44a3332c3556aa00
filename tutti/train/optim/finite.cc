#include "tutti/train/optim/finite.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace tutti::train {

namespace {

// Positive floats are ordered like their bits, followed by infinity and NaN. With integers the compiler vectorises the
// loop without permission to reorder sums.
bool all_below(std::span<const float> values, float limit) {
  const auto bits = std::bit_cast<std::int32_t>(limit);
  std::int32_t found = 0;
  for (const float value : values)
    found |= (std::bit_cast<std::int32_t>(value) & 0x7fffffff) >= bits ? 1 : 0;
  return found == 0;
}

}  // namespace

bool all_finite(std::span<const float> values) {
  return all_below(values, std::numeric_limits<float>::infinity());
}

bool squares_are_finite(std::span<const float> values) {
  return all_below(values, 0x1p64f);
}

}  // namespace tutti::train
