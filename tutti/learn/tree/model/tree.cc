#include "tutti/learn/tree/model/tree.h"

#include <algorithm>
#include <cmath>

namespace tutti::learn::tree {

bool Tree::goes_left(const Node& node, double value) const {
  if (std::isnan(value)) return node.missing_left;
  if (node.categories < 0) return value <= node.threshold;
  const CategorySet& set = category_sets[node.categories];
  const auto code = static_cast<std::int64_t>(std::clamp(value, -1.0, 0x1p53));
  if (std::binary_search(set.left.begin(), set.left.end(), code)) return true;
  return node.missing_left && !std::binary_search(set.known.begin(), set.known.end(), code);
}

std::int32_t Tree::leaf_of(std::span<const double> row) const {
  std::int32_t at = 0;
  for (const Node* node = &nodes[0]; !node->is_leaf(); node = &nodes[at])
    at = goes_left(*node, row[node->column]) ? node->left : node->right;
  return at;
}

int Tree::leaves() const {
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.is_leaf(); }));
}

int Tree::depth() const {
  std::vector<int> depths(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!nodes[i].is_leaf()) depths[nodes[i].left] = depths[nodes[i].right] = depths[i] + 1;
  return depths.empty() ? 0 : *std::max_element(depths.begin(), depths.end());
}

}  // namespace tutti::learn::tree
