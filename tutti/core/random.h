// Reproducible pseudorandom numbers (SplitMix64). Integers and uniform() depend only on the seed, on every machine;
// gaussian() also depends on the rounding of log, sin and cos in the C library.
#pragma once

#include <cstdint>

namespace tutti {

inline constexpr std::uint64_t kSplitMixIncrement = 0x9e3779b97f4a7c15;

// Output function of SplitMix64 without its increment: a bijection on 64-bit integers.
constexpr std::uint64_t split_mix_output(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// First output of the generator with state `x`. Also a 64-bit hash.
constexpr std::uint64_t split_mix(std::uint64_t x) {
  return split_mix_output(x + kSplitMixIncrement);
}

// Maps the upper 53 bits to [0, 1).
constexpr double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// Scales `bits` to [0, limit).
constexpr std::uint64_t scaled_below(std::uint64_t bits, std::uint64_t limit) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * limit) >> 64);
}

// Not thread-safe; use one object per thread.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return split_mix_output(state_ += kSplitMixIncrement); }
  std::uint64_t below(std::uint64_t limit) { return scaled_below(next(), limit); }  // [0, limit)
  double uniform() { return unit_interval(next()); }                                // [0, 1)
  double gaussian();  // mean 0, standard deviation 1

 private:
  std::uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// Returns the seed of stream `index` of many independent streams.
std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t index);

}  // namespace tutti
