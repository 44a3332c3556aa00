// Random columns of a node.
//
// Every column has a random priority in a node. Columns are tried by ascending priority until `columns_per_node` of
// them are not constant in the node. Constant columns do not change the result, so sparse data skips them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

// Priority of a column in the node with this path.
inline std::uint32_t priority(std::uint64_t path, int column) {
  auto x = static_cast<std::uint32_t>(path) ^ (static_cast<std::uint32_t>(column) * 0x9e3779b9u);
  x = (x ^ x >> 16) * 0x7feb352du + static_cast<std::uint32_t>(path >> 32);
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

// Order in which columns are tried.
inline std::uint64_t draw_key(std::uint32_t priority, std::uint32_t column) {
  return std::uint64_t{priority} << 32 | column;
}

// Sets `drawn` to the keys of the columns with a priority in [first, last], ascending.
void draw_columns(std::uint64_t path, std::span<const int> columns, std::uint32_t first,
                  std::uint32_t last, std::vector<std::uint64_t>& drawn);

// Ascending ranges of priorities, of which the first one has about `share` of the columns.
class PriorityRanges {
 public:
  explicit PriorityRanges(double share) : share_(share) {}

  bool exists() const { return first_ <= kLast; }
  std::uint32_t first() const { return static_cast<std::uint32_t>(first_); }
  std::uint32_t last() const {
    return static_cast<std::uint32_t>(std::min(static_cast<double>(kLast), share_ * 0x1p32));
  }
  void advance() {
    first_ = std::uint64_t{last()} + 1;
    share_ *= 4;
  }

 private:
  static constexpr std::uint64_t kLast = 0xffffffffu;
  std::uint64_t first_ = 0;
  double share_;
};

// Calls `try_columns(columns, tried)` with batches of columns by ascending priority until columns_per_node have been
// tried and a split is found. `try_columns` adds the number of columns that are not constant in the node to `tried`.
template <class TryColumns>
void sample_columns(GrownNode& node, const GrowOptions& options, const TryColumns& try_columns) {
  const int wanted = options.columns_per_node;
  int tried = 0;
  const auto has_enough = [&] { return tried >= wanted && node.split.exists(); };
  std::vector<std::uint64_t> drawn;
  std::vector<int> batch;
  PriorityRanges ranges((1.25 * wanted + 4) / static_cast<double>(options.columns.size()));
  for (; ranges.exists() && !has_enough(); ranges.advance()) {
    draw_columns(node.path, options.columns, ranges.first(), ranges.last(), drawn);
    for (std::size_t at = 0; at < drawn.size() && !has_enough(); at += batch.size()) {
      const auto missing = static_cast<std::size_t>(std::max(1, wanted - tried));
      batch.resize(std::min(missing, drawn.size() - at));
      for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = static_cast<int>(drawn[at + i]);
      try_columns(std::span<const int>(batch), tried);
    }
  }
}

}  // namespace tutti::learn::tree
