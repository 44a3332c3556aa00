#include "tutti/comm/kernels/top_k.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <vector>

namespace tutti::comm::internal {
namespace {

// Without the sign bit, the bit patterns of floats are ordered like their magnitudes.
std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

// Bins by the exponent and four mantissa bits: the counters fit into the L1 cache.
constexpr int kBinShift = 19;
constexpr std::size_t kBins = std::size_t{1} << (31 - kBinShift);

struct Threshold {
  std::uint32_t magnitude;
  std::size_t ties;  // number of values equal to the threshold to take
};

// One pass builds a histogram of magnitudes; only the bin that contains the k-th largest value is then searched.
Threshold threshold_of(std::span<const float> values, std::size_t k) {
  std::array<std::size_t, kBins> counts{};
  for (const float value : values) ++counts[magnitude(value) >> kBinShift];
  std::size_t bin = kBins - 1;
  for (; counts[bin] < k; --bin) k -= counts[bin];
  std::vector<std::uint32_t> inside;
  inside.reserve(counts[bin]);
  for (const float value : values) {
    if (magnitude(value) >> kBinShift == bin) inside.push_back(magnitude(value));
  }
  const auto kth = inside.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(inside.begin(), kth, inside.end(), std::greater<>());
  const auto above = std::count_if(inside.begin(), kth, [&](auto m) { return m > *kth; });
  return {*kth, k - static_cast<std::size_t>(above)};
}

}  // namespace

void encode_top_k(std::span<const float> values, std::size_t k, std::byte* wire) {
  Threshold threshold = threshold_of(values, k);
  std::byte* index_at = wire;
  std::byte* value_at = wire + k * sizeof(std::uint32_t);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_tie = magnitude(values[i]) == threshold.magnitude;
    if (magnitude(values[i]) < threshold.magnitude || (is_tie && threshold.ties == 0)) continue;
    threshold.ties -= is_tie;
    const auto index = static_cast<std::uint32_t>(i);
    std::memcpy(index_at, &index, sizeof index);
    std::memcpy(value_at, &values[i], sizeof(float));
    index_at += sizeof index;
    value_at += sizeof(float);
  }
}

TopKEntry top_k_entry(const std::byte* wire, std::size_t k, std::size_t i) {
  TopKEntry entry{};
  std::memcpy(&entry.index, wire + i * sizeof entry.index, sizeof entry.index);
  std::memcpy(&entry.value, wire + k * sizeof entry.index + i * sizeof(float), sizeof(float));
  return entry;
}

}  // namespace tutti::comm::internal
