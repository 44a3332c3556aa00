// Random numbers that depend only on the seed, on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "tutti/core/random.h"

namespace tutti::bench {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(split_mix(seed)) {}

  std::uint64_t bits() { return split_mix(state_ += kSplitMixIncrement); }
  double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }  // never 0 or 1
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  // Approximately normal: the sum of several uniform numbers from one draw.
  double quick_normal() {
    const std::uint64_t b = bits();
    const double sum =
        static_cast<double>((b & 0xffff) + (b >> 16 & 0xffff) + (b >> 32 & 0xffff) + (b >> 48));
    return (sum / 65535 - 2) * 1.7320508;
  }
  // Returns k in [0, size) with a probability approximately proportional to (k + 1)^-exponent; exponent > 1.
  std::int64_t zipf(std::int64_t size, double exponent) {
    const double power = 1 - exponent;
    const double top = std::pow(static_cast<double>(size) + 1, power);
    const double x = std::pow(1 + uniform() * (top - 1), 1 / power);
    const std::int64_t k = static_cast<std::int64_t>(x) - 1;
    return k < 0 ? 0 : k >= size ? size - 1 : k;
  }

 private:
  std::uint64_t state_;
};

}  // namespace tutti::bench
