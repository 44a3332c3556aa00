// Split rules that all growth strategies share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/base/hash.h"
#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

// Returns whether to search a split for the node.
bool may_split(const GrownNode& node, const GrowOptions& options, const SplitRules& rules);

// Discards the split unless its gain exceeds min_gain.
void keep_if_good(GrownNode& node, const GrowOptions& options, const SplitSearch& search);

// Samples columns: calls `try_columns(columns, tried)` with batches of columns in a random order of the node, until
// columns_per_node have been tried. Constant columns do not count as tried, and the search continues until a split is
// found.
template <class TryColumns>
void sample_columns(GrownNode& node, const GrowOptions& options, const TryColumns& try_columns) {
  std::vector<int> columns = options.columns;
  const auto size = static_cast<std::int64_t>(columns.size());
  const int wanted = options.columns_per_node;
  std::int64_t drawn = 0;
  for (int tried = 0; drawn < size && (tried < wanted || !node.split.exists());) {
    const std::int64_t batch = std::clamp<std::int64_t>(wanted - tried, 1, size - drawn);
    for (std::int64_t i = drawn; i < drawn + batch; ++i) {
      const auto other =
          i + static_cast<std::int64_t>(below(mix(node.path, static_cast<std::uint64_t>(i)),
                                              static_cast<std::uint64_t>(size - i)));
      std::swap(columns[i], columns[other]);
    }
    try_columns(std::span<const int>(columns.data() + drawn, static_cast<std::size_t>(batch)),
                tried);
    drawn += batch;
  }
}

}  // namespace tutti::learn::tree
