// Random numbers that are a function of where they are needed, so that any thread or rank that
// asks gets the same.
#pragma once

#include <cstdint>

namespace tutti::learn::tree {

// A bijection of 64 bits that leaves no trace of its input (the finaliser of SplitMix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a) ^ b);
}

// In [0, 1).
constexpr double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// In [0, size).
constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t size) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * size) >> 64);
}

}  // namespace tutti::learn::tree
