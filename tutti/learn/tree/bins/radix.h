// Radix sort.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace tutti::learn::tree {

// Stable sort, ascending by the unsigned `key_of(item)`, least significant digit first. Digits in which all keys agree
// are skipped. Fewer than 2^32 items. `scratch` is working memory.
template <class Item, class KeyOf>
void radix_sort(std::vector<Item>& items, std::vector<Item>& scratch, const KeyOf& key_of) {
  using Key = decltype(key_of(items[0]));
  constexpr int kBits = 11, kDigits = (8 * static_cast<int>(sizeof(Key)) + kBits - 1) / kBits;
  constexpr std::size_t kValues = std::size_t{1} << kBits;
  std::array<std::array<std::uint32_t, kValues>, kDigits> counts = {};
  const auto digit = [](Key key, int at) {
    return static_cast<std::size_t>(key >> (at * kBits)) & (kValues - 1);
  };
  for (const Item& item : items)
    for (int at = 0; at < kDigits; ++at) ++counts[at][digit(key_of(item), at)];
  scratch.resize(items.size());
  for (int at = 0; at < kDigits; ++at) {
    auto& offsets = counts[at];
    if (items.empty() || offsets[digit(key_of(items[0]), at)] == items.size()) continue;
    std::uint32_t next = 0;
    for (std::uint32_t& offset : offsets) next += std::exchange(offset, next);
    for (const Item& item : items) scratch[offsets[digit(key_of(item), at)]++] = item;
    items.swap(scratch);
  }
}

}  // namespace tutti::learn::tree
