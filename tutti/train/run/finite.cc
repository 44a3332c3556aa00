#include "tutti/train/run/finite.h"

#include <bit>
#include <cstdint>

namespace tutti::train {

bool all_finite(std::span<const float> values) {
  // As integers: such a loop becomes one of vectors without any leave to reorder sums.
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t found = 0;
  for (const float value : values)
    found |= (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent ? 1u : 0u;
  return found == 0;
}

}  // namespace tutti::train
