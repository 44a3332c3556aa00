// Random numbers that are a function of where they are needed, so that any thread or rank that
// asks gets the same.
#pragma once

#include <cstdint>

#include "tutti/core/random.h"

namespace tutti::learn::tree {

// A bijection of 64 bits.
constexpr std::uint64_t mix(std::uint64_t x) {
  return split_mix(x);
}

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a) ^ b);
}

// In [0, 1).
constexpr double unit(std::uint64_t bits) {
  return unit_interval(bits);
}

// In [0, size).
constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t size) {
  return scaled_below(bits, size);
}

}  // namespace tutti::learn::tree
