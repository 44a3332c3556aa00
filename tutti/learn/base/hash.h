// Counter-based random numbers: pure functions of a seed and an index, so every thread and rank computes the same
// number for the same row, column or node.
#pragma once

#include <cstdint>

#include "tutti/core/random.h"

namespace tutti::learn::tree {

// Mixes 64 bits; a bijection.
constexpr std::uint64_t mix(std::uint64_t x) {
  return split_mix(x);
}

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a) ^ b);
}

// Uniform in [0, 1).
constexpr double unit(std::uint64_t bits) {
  return unit_interval(bits);
}

// Uniform integer in [0, size).
constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t size) {
  return scaled_below(bits, size);
}

}  // namespace tutti::learn::tree
