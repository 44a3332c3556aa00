// Top-k sparsification. Wire format: k indices (u32, ascending), then k values (f32).
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

// Encodes the `k` values of largest magnitude; ties are resolved in favour of the lower index. NaN compares larger than
// any number. 1 <= k <= values.size() <= 2^32. `wire` has room for k * kTopKEntryBytes bytes.
void encode_top_k(std::span<const float> values, std::size_t k, std::byte* wire);
// Returns entry `i` of the `k` encoded entries.
TopKEntry top_k_entry(const std::byte* wire, std::size_t k, std::size_t i);

}  // namespace tutti::comm::internal
