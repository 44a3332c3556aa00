// The largest values of many, on the wire: their indices (u32, ascending), then the values (f32).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::comm::internal {

struct TopKEntry {
  std::uint32_t index;
  float value;
};
inline constexpr std::size_t kTopKEntryBytes = sizeof(std::uint32_t) + sizeof(float);

// Writes the `k` values of largest magnitude; among equals the first ones. NaN is larger than
// everything. 1 <= k <= values.size() <= 2^32.
void encode_top_k(std::span<const float> values, std::size_t k, std::byte* wire);
// The i-th of the `k` entries there.
TopKEntry top_k_entry(const std::byte* wire, std::size_t k, std::size_t i);

}  // namespace tutti::comm::internal
