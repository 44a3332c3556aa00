// In which order nodes are split. `Work` knows how: begin, expand and drop as in NodeWork.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <span>
#include <vector>

#include "tutti/learn/threads.h"
#include "tutti/learn/tree/internal/grower.h"

namespace tutti::learn::tree {

// A node whose split is not known, or not yet used.
struct OpenNode {
  std::int32_t index = 0;              // in the list of grown nodes
  std::uint64_t* histogram = nullptr;  // of the pool; none: the rows are few, or columns are drawn
};

// Rows that stay in the cache of one core.
inline constexpr std::int64_t kSubtreeRows = 32768;

// The most useful at the end; of equal ones that which is older.
struct IsLessUseful {
  const std::vector<GrownNode>& nodes;
  bool operator()(std::int32_t a, std::int32_t b) const {
    const double gain_a = nodes[static_cast<std::size_t>(a)].split.gain;
    const double gain_b = nodes[static_cast<std::size_t>(b)].split.gain;
    return gain_a != gain_b ? gain_a < gain_b : a > b;
  }
};

template <class Work>
void grow_best_first(Work& work, std::vector<GrownNode>& nodes, OpenNode root, int max_leaves) {
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

template <class Work>
void grow_depth_first(Work& work, std::vector<GrownNode>& nodes, OpenNode root) {
  std::vector<OpenNode> open = {root};
  while (!open.empty()) {
    const OpenNode next = open.back();
    open.pop_back();
    for (const OpenNode& child : work.expand(nodes, next)) open.push_back(child);
  }
}

// Each thread grows subtrees of its own, with work that `make_alone()` gives it.
template <class MakeAlone>
void grow_subtrees(const MakeAlone& make_alone, Threads& threads, std::vector<GrownNode>& nodes,
                   std::span<const OpenNode> roots) {
  std::vector<std::vector<GrownNode>> subtrees(roots.size());
  std::atomic<std::size_t> next = 0;
  threads.run(threads.count(), [&](std::int64_t) {
    auto work = make_alone();
    for (std::size_t i; (i = next++) < roots.size();) {
      subtrees[i] = {nodes[static_cast<std::size_t>(roots[i].index)]};
      grow_depth_first(work, subtrees[i], {0, roots[i].histogram});
    }
  });
  for (std::size_t i = 0; i < roots.size(); ++i)
    attach(nodes, static_cast<std::size_t>(roots[i].index), subtrees[i]);
}

// Breadth first with all threads on each node; once a node has few rows, its subtree is one
// thread's. `has_ranks`: every node is met by all ranks, there is no subtree for one thread alone.
template <class Work, class MakeAlone>
void grow_breadth_first(Work& work, const MakeAlone& make_alone, bool has_ranks, Threads& threads,
                        std::vector<GrownNode>& nodes, OpenNode root) {
  std::deque<OpenNode> open;
  std::vector<OpenNode> roots;
  const auto add = [&](OpenNode node) {
    const bool is_small = nodes[static_cast<std::size_t>(node.index)].size() <= kSubtreeRows;
    if (is_small && !has_ranks)
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
  grow_subtrees(make_alone, threads, nodes, roots);
}

template <class Work, class MakeAlone>
std::vector<GrownNode> grow_in_order(Work& work, const MakeAlone& make_alone, int max_leaves,
                                     bool has_ranks, Threads& threads) {
  std::vector<GrownNode> nodes;
  const OpenNode root = work.begin(nodes);
  if (!nodes[0].split.exists()) return nodes;
  if (max_leaves > 0)
    grow_best_first(work, nodes, root, max_leaves);
  else
    grow_breadth_first(work, make_alone, has_ranks, threads, nodes, root);
  return nodes;
}

}  // namespace tutti::learn::tree
