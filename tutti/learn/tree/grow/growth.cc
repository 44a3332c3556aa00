#include "tutti/learn/tree/grow/growth.h"

#include <algorithm>
#include <cmath>

#include "tutti/learn/base/hash.h"

namespace tutti::learn::tree {

std::int32_t add_children(std::vector<GrownNode>& nodes, std::int32_t parent,
                          std::int64_t left_size) {
  const auto first = static_cast<std::int32_t>(nodes.size());
  nodes.resize(nodes.size() + 2);
  GrownNode& node = nodes[parent];
  GrownNode& left = nodes[first];
  GrownNode& right = nodes[first + 1];
  node.left = first;
  node.right = first + 1;
  left.begin = node.begin;
  left.end = right.begin = node.begin + left_size;
  right.end = node.end;
  left.depth = right.depth = node.depth + 1;
  left.path = mix(node.path, 1);
  right.path = mix(node.path, 2);
  return first;
}

void attach(std::vector<GrownNode>& nodes, std::size_t at, std::vector<GrownNode>& subtree) {
  const auto shift = static_cast<std::int32_t>(nodes.size()) - 1;
  for (GrownNode& node : subtree) {
    if (node.left < 0) continue;
    node.left += shift;
    node.right += shift;
  }
  nodes[at] = subtree[0];
  nodes.insert(nodes.end(), std::make_move_iterator(subtree.begin() + 1),
               std::make_move_iterator(subtree.end()));
}

std::vector<GrownNode> take_best(const std::vector<GrownNode>& grown, int max_leaves) {
  std::vector<GrownNode> nodes;
  std::vector<std::int32_t> from, open;  // index of each node in `grown`; a heap
  const auto add = [&](std::int32_t index) {
    const GrownNode& node = nodes.emplace_back(grown[index]);
    from.push_back(index);
    if (node.left < 0) return;
    open.push_back(static_cast<std::int32_t>(nodes.size()) - 1);
    std::push_heap(open.begin(), open.end(), HasLowerGain{nodes});
  };
  add(0);
  for (int leaves = 1; !open.empty() && leaves < max_leaves; ++leaves) {
    std::pop_heap(open.begin(), open.end(), HasLowerGain{nodes});
    const auto best = static_cast<std::size_t>(open.back());
    open.pop_back();
    const GrownNode& parent = grown[from[best]];
    nodes[best].left = static_cast<std::int32_t>(nodes.size());
    nodes[best].right = nodes[best].left + 1;
    add(parent.left);
    add(parent.right);
  }
  for (const std::int32_t rest : open) {
    GrownNode& node = nodes[rest];
    node.split = Split();
    node.left = node.right = -1;
  }
  return nodes;
}

Tree to_tree(const std::vector<GrownNode>& grown, const Bins& bins, const SplitRules& rules,
             std::vector<std::int32_t>& tree_index) {
  Tree tree;
  tree_index.assign(grown.size(), -1);
  std::vector<std::int32_t> open = {0};
  std::vector<std::int32_t> parents = {-1};
  while (!open.empty()) {
    const auto from = static_cast<std::size_t>(open.back());
    const std::int32_t parent = parents.back();
    open.pop_back();
    parents.pop_back();
    const auto at = static_cast<std::int32_t>(tree.nodes.size());
    tree_index[from] = at;
    if (parent >= 0) {
      Node& above = tree.nodes[parent];
      (above.left < 0 ? above.left : above.right) = at;
    }
    const GrownNode& node = grown[from];
    Node& made = tree.nodes.emplace_back();
    made.cover = static_cast<double>(node.sums.hessian) * rules.scales.hessian;
    made.count = node.sums.count;
    if (node.left < 0) continue;
    made.column = node.split.column;
    made.gain = node.split.gain;
    made.missing_left = node.split.goes_left(kMissingBin);
    const ColumnBins& column = bins.columns[made.column];
    if (column.is_categorical) {
      made.categories = static_cast<std::int32_t>(tree.category_sets.size());
      auto& set = tree.category_sets.emplace_back();
      for (const auto& [code, bin] : column.bin_of_code) {
        set.known.push_back(code);
        if (node.split.goes_left(bin)) set.left.push_back(code);
      }
    } else {
      // If only missing values are separated, all numbers go left.
      const auto bin = static_cast<std::size_t>(node.split.bin);
      made.threshold = !std::isnan(node.split.threshold) ? node.split.threshold
                       : bin < column.edges.size()       ? column.edges[bin]
                                                         : std::numeric_limits<double>::infinity();
    }
    open.insert(open.end(), {node.right, node.left});
    parents.insert(parents.end(), {at, at});
  }
  return tree;
}

}  // namespace tutti::learn::tree
