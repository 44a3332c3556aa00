#include "tutti/learn/tree/internal/grower.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

#include "tutti/learn/threads.h"
#include "tutti/learn/tree/internal/node_work.h"

namespace tutti::learn::tree {
namespace {

// Rows whose bins stay in the cache of one core.
constexpr std::int64_t kSubtreeRows = 32768;

// The most useful at the end; of equal ones that which is older.
struct IsLessUseful {
  const std::vector<GrownNode>& nodes;
  bool operator()(std::int32_t a, std::int32_t b) const {
    const double gain_a = nodes[static_cast<std::size_t>(a)].split.gain;
    const double gain_b = nodes[static_cast<std::size_t>(b)].split.gain;
    return gain_a != gain_b ? gain_a < gain_b : a > b;
  }
};

template <class Record>
void grow_best_first(NodeWork<Record>& work, std::vector<GrownNode>& nodes, OpenNode root,
                     int max_leaves) {
  std::vector<OpenNode> open;
  const auto less = [&](const OpenNode& a, const OpenNode& b) {
    return IsLessUseful{nodes}(a.index, b.index);
  };
  if (nodes[0].split.exists()) open.push_back(root);
  int leaves = 1;
  while (!open.empty() && leaves < max_leaves) {
    std::pop_heap(open.begin(), open.end(), less);
    const OpenNode best = open.back();
    open.pop_back();
    for (const OpenNode& child : work.expand(nodes, best)) {
      open.push_back(child);
      std::push_heap(open.begin(), open.end(), less);
    }
    ++leaves;
  }
  for (OpenNode& rest : open) {
    nodes[static_cast<std::size_t>(rest.index)].split = Split();
    work.drop(rest);
  }
}

template <class Record>
void grow_depth_first(NodeWork<Record>& work, std::vector<GrownNode>& nodes, OpenNode root) {
  std::vector<OpenNode> open = {root};
  while (!open.empty()) {
    const OpenNode next = open.back();
    open.pop_back();
    for (const OpenNode& child : work.expand(nodes, next)) open.push_back(child);
  }
}

template <class Record>
void grow_subtrees(const Growth<Record>& growth, Threads& threads, std::vector<GrownNode>& nodes,
                   std::span<const OpenNode> roots) {
  std::vector<std::vector<GrownNode>> subtrees(roots.size());
  std::atomic<std::size_t> next = 0;
  threads.run(threads.count(), [&](std::int64_t) {
    NodeWork<Record> work(growth, nullptr);
    for (std::size_t i; (i = next++) < roots.size();) {
      subtrees[i] = {nodes[static_cast<std::size_t>(roots[i].index)]};
      grow_depth_first(work, subtrees[i], {0, roots[i].histogram});
    }
  });
  for (std::size_t i = 0; i < roots.size(); ++i)
    attach(nodes, static_cast<std::size_t>(roots[i].index), subtrees[i]);
}

template <class Record>
void grow_breadth_first(const Growth<Record>& growth, Threads& threads, NodeWork<Record>& work,
                        std::vector<GrownNode>& nodes, OpenNode root) {
  std::deque<OpenNode> open;
  std::vector<OpenNode> roots;
  const auto add = [&](OpenNode node) {
    // With ranks every node is met by all of them: there is no subtree for one thread alone.
    const bool is_small = nodes[static_cast<std::size_t>(node.index)].size() <= kSubtreeRows;
    if (is_small && growth.communicator == nullptr)
      roots.push_back(node);
    else
      open.push_back(node);
  };
  add(root);
  while (!open.empty()) {
    const OpenNode next = open.front();
    open.pop_front();
    for (const OpenNode& child : work.expand(nodes, next)) add(child);
  }
  grow_subtrees(growth, threads, nodes, roots);
}

}  // namespace

template <class Record>
std::vector<GrownNode> grow(const Growth<Record>& growth, Threads& threads) {
  std::vector<GrownNode> nodes;
  NodeWork<Record> work(growth, threads.count() > 1 ? &threads : nullptr);
  const OpenNode root = work.begin(nodes);
  if (!nodes[0].split.exists()) return nodes;
  if (growth.options.max_leaves > 0)
    grow_best_first(work, nodes, root, growth.options.max_leaves);
  else
    grow_breadth_first(growth, threads, work, nodes, root);
  return nodes;
}
template std::vector<GrownNode> grow(const Growth<NarrowRecord>&, Threads&);
template std::vector<GrownNode> grow(const Growth<WideRecord>&, Threads&);

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
  std::vector<std::int32_t> from, open;  // where each node stands in `grown`; a heap
  const auto add = [&](std::int32_t index) {
    const GrownNode& node = nodes.emplace_back(grown[static_cast<std::size_t>(index)]);
    from.push_back(index);
    if (node.left < 0) return;
    open.push_back(static_cast<std::int32_t>(nodes.size()) - 1);
    std::push_heap(open.begin(), open.end(), IsLessUseful{nodes});
  };
  add(0);
  for (int leaves = 1; !open.empty() && leaves < max_leaves; ++leaves) {
    std::pop_heap(open.begin(), open.end(), IsLessUseful{nodes});
    const auto best = static_cast<std::size_t>(open.back());
    open.pop_back();
    const GrownNode& parent = grown[static_cast<std::size_t>(from[best])];
    nodes[best].left = static_cast<std::int32_t>(nodes.size());
    nodes[best].right = nodes[best].left + 1;
    add(parent.left);
    add(parent.right);
  }
  for (const std::int32_t rest : open) {
    GrownNode& node = nodes[static_cast<std::size_t>(rest)];
    node.split = Split();
    node.left = node.right = -1;
  }
  return nodes;
}

Tree to_tree(const std::vector<GrownNode>& grown, const Bins& bins, const SplitRules& rules,
             std::vector<std::int32_t>& place) {
  Tree tree;
  place.assign(grown.size(), -1);
  std::vector<std::int32_t> open = {0};
  std::vector<std::int32_t> parents = {-1};
  while (!open.empty()) {
    const auto from = static_cast<std::size_t>(open.back());
    const std::int32_t parent = parents.back();
    open.pop_back();
    parents.pop_back();
    const auto at = static_cast<std::int32_t>(tree.nodes.size());
    place[from] = at;
    if (parent >= 0) {
      Node& above = tree.nodes[static_cast<std::size_t>(parent)];
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
    const ColumnBins& column = bins.columns[static_cast<std::size_t>(made.column)];
    if (column.is_categorical) {
      made.categories = static_cast<std::int32_t>(tree.category_sets.size());
      auto& set = tree.category_sets.emplace_back();
      for (const auto& [code, bin] : column.bin_of_code) {
        set.known.push_back(code);
        if (node.split.goes_left(bin)) set.left.push_back(code);
      }
    } else {
      // All numbers go left when only the missing ones are told apart.
      const auto bin = static_cast<std::size_t>(node.split.bin);
      made.threshold =
          bin < column.edges.size() ? column.edges[bin] : std::numeric_limits<double>::infinity();
    }
    open.insert(open.end(), {node.right, node.left});
    parents.insert(parents.end(), {at, at});
  }
  return tree;
}

}  // namespace tutti::learn::tree
