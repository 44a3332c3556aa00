// Conversion of nodes in any order to those of a Tree.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/tree/model/tree.h"

namespace tutti::learn::tree {

// `nodes` refer to each other from nodes[0]; `values` has one value per node. Afterwards every node precedes its
// children, and unreachable nodes are dropped. Returns false if a node is reached twice or a child does not exist.
inline bool renumber(const std::vector<Node>& nodes, const std::vector<double>& values,
                     Tree& tree) {
  std::vector<std::int32_t> open = {0}, parents = {-1};
  std::vector<bool> is_seen(nodes.size());
  while (!open.empty()) {
    const std::int32_t from = open.back(), parent = parents.back();
    open.pop_back();
    parents.pop_back();
    if (from < 0 || from >= static_cast<std::int32_t>(nodes.size())) return false;
    const auto index = static_cast<std::size_t>(from);
    if (is_seen[index]) return false;
    is_seen[index] = true;
    const auto at = static_cast<std::int32_t>(tree.nodes.size());
    if (parent >= 0) {
      Node& above = tree.nodes[parent];
      (above.left < 0 ? above.left : above.right) = at;
    }
    Node node = nodes[index];
    node.left = node.right = -1;
    tree.nodes.push_back(node);
    tree.values.push_back(values[index]);
    if (nodes[index].is_leaf()) continue;
    open.insert(open.end(), {nodes[index].right, nodes[index].left});
    parents.insert(parents.end(), {at, at});
  }
  return true;
}

}  // namespace tutti::learn::tree
