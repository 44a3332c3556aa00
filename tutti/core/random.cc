#include "tutti/core/random.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace tutti {

double Random::gaussian() {
  if (std::exchange(has_spare_, false)) return spare_;
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t index) {
  return split_mix(split_mix(seed) + index * kSplitMixIncrement);
}

}  // namespace tutti
