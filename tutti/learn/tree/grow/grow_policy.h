// Order in which nodes are expanded (XGBoost: grow_policy): best-first (leaf-wise) with max_leaves, otherwise
// breadth-first, then depth-first per subtree.
//
// `Work` implements begin, expand, expand_level_wise, drop and grow_subtree like NodeExpander.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

struct SlotSums;

// A node whose split is not known, or known but not applied yet.
struct ExpandEntry {
  std::int32_t index = 0;              // in the list of grown nodes
  std::uint64_t* histogram = nullptr;  // from the pool; null: few rows, or columns are sampled
  std::shared_ptr<SlotSums> slot_sums = {};  // of sparse data, instead of a histogram

  // The same node as the root of a separate list.
  ExpandEntry as_root() const { return {0, histogram, slot_sums}; }
};

// Maximum rows of a subtree grown by one thread; a copy of its bins stays in the cache.
inline constexpr std::int64_t kSubtreeRows = 65536;

// Best-first growth: maximum rows of a node split by one thread.
inline constexpr std::int64_t kSerialRows = 32768;

// Number of nodes split together, most of them speculatively: enough to keep all threads busy.
inline constexpr int kSplitAhead = 8;

// Always expands the open node with the highest gain, until the tree has `max_leaves` leaves or no open node can be
// split.
template <class Work>
void grow_best_first(Work& work, std::vector<GrownNode>& nodes, ExpandEntry root, int max_leaves) {
  std::vector<ExpandEntry> open;
  const auto less = [&](const ExpandEntry& a, const ExpandEntry& b) {
    return HasLowerGain{nodes}(a.index, b.index);
  };
  if (nodes[0].split.exists()) open.push_back(root);
  int leaves = 1;
  while (!open.empty() && leaves < max_leaves) {
    std::pop_heap(open.begin(), open.end(), less);
    const ExpandEntry best = open.back();
    open.pop_back();
    for (const ExpandEntry& child : work.expand(nodes, best)) {
      open.push_back(child);
      std::push_heap(open.begin(), open.end(), less);
    }
    ++leaves;
  }
  for (ExpandEntry& rest : open) {
    nodes[rest.index].split = Split();
    work.drop(rest);
  }
}

// Parallel best-first growth; the tree is that of grow_best_first. Large nodes are split by all threads together. Small
// ones are split speculatively, each by one thread; splits that are not used are pruned.
template <class Work, class MakeSerial>
class BestFirst {
 public:
  BestFirst(Work& work, const MakeSerial& make_serial, Threads& threads,
            std::vector<GrownNode>& nodes)
      : work_(work), threads_(threads), nodes_(nodes) {
    for (int i = 0; i < threads.count(); ++i) serial_.emplace_back(new Serial(make_serial()));
  }

  void grow(ExpandEntry root, int max_leaves) {
    std::vector<Waiting> open = {{root, 0}};
    const auto less = [this](const Waiting& a, const Waiting& b) { return is_less(a, b); };
    for (int leaves = 1; !open.empty() && leaves < max_leaves; ++leaves) {
      std::pop_heap(open.begin(), open.end(), less);
      const Waiting best = open.back();
      open.pop_back();
      if (at(best).left < 0) split(best, open, static_cast<std::size_t>(max_leaves - leaves));
      for (const ExpandEntry& child : children_[best.node.index]) {
        open.push_back({child, 2 * leaves - (child.index == at(best).left ? 1 : 0)});
        std::push_heap(open.begin(), open.end(), less);
      }
    }
    for (GrownNode& node : nodes_)
      if (node.left < 0) node.split = Split();
    nodes_ = take_best(nodes_, max_leaves);
  }

 private:
  struct Waiting {
    ExpandEntry node;
    std::int32_t order;  // position in the sequence of sequential best-first growth
  };
  const GrownNode& at(const Waiting& waiting) const { return nodes_[waiting.node.index]; }
  bool is_less(const Waiting& a, const Waiting& b) const {
    const double gain_a = at(a).split.gain, gain_b = at(b).split.gain;
    return gain_a != gain_b ? gain_a < gain_b : a.order > b.order;
  }

  void split(const Waiting& best, const std::vector<Waiting>& open, std::size_t most) {
    if (at(best).size() > kSerialRows) {
      keep(static_cast<std::size_t>(best.node.index), work_.expand(nodes_, best.node));
      return;
    }
    std::vector<Waiting> chosen;
    for (const Waiting& one : open)
      if (at(one).left < 0 && at(one).size() <= kSerialRows) chosen.push_back(one);
    const std::size_t size = std::min({chosen.size(), most - 1, std::size_t{kSplitAhead - 1}});
    std::partial_sort(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(size),
                      chosen.end(),
                      [this](const Waiting& a, const Waiting& b) { return is_less(b, a); });
    chosen.resize(size);
    chosen.insert(chosen.begin(), best);
    split_together(chosen);
  }

  void split_together(const std::vector<Waiting>& chosen) {
    std::vector<std::vector<GrownNode>> grown(chosen.size());
    std::vector<std::vector<ExpandEntry>> open(chosen.size());
    std::atomic<std::size_t> next = 0;
    threads_.run(threads_.count(), [&](std::int64_t slot) {
      for (std::size_t i; (i = next++) < chosen.size();) {
        grown[i] = {at(chosen[i])};
        open[i] = serial_[slot]->expand(grown[i], chosen[i].node.as_root());
      }
    });
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const auto shift = static_cast<std::int32_t>(nodes_.size()) - 1;
      for (ExpandEntry& child : open[i]) child.index += shift;
      attach(nodes_, static_cast<std::size_t>(chosen[i].node.index), grown[i]);
      keep(static_cast<std::size_t>(chosen[i].node.index), std::move(open[i]));
    }
  }

  void keep(std::size_t parent, std::vector<ExpandEntry> open) {
    children_.resize(nodes_.size());
    children_[parent] = std::move(open);
  }

  using Serial = decltype(std::declval<const MakeSerial&>()());
  Work& work_;
  std::vector<std::unique_ptr<Serial>> serial_;
  Threads& threads_;
  std::vector<GrownNode>& nodes_;
  std::vector<std::vector<ExpandEntry>> children_;  // per split node: its children with a split
};

template <class Work>
void grow_depth_first(Work& work, std::vector<GrownNode>& nodes, ExpandEntry root) {
  std::vector<ExpandEntry> open = {root};
  while (!open.empty()) {
    const ExpandEntry next = open.back();
    open.pop_back();
    for (const ExpandEntry& child : work.expand(nodes, next)) open.push_back(child);
  }
}

// Each thread grows whole subtrees with a Work object from `make_serial()`.
template <class MakeSerial>
void grow_subtrees(const MakeSerial& make_serial, Threads& threads, std::vector<GrownNode>& nodes,
                   std::span<const ExpandEntry> roots) {
  std::vector<std::vector<GrownNode>> subtrees(roots.size());
  std::atomic<std::size_t> next = 0;
  threads.run(threads.count(), [&](std::int64_t) {
    auto work = make_serial();
    for (std::size_t i; (i = next++) < roots.size();) {
      subtrees[i] = {nodes[roots[i].index]};
      work.grow_subtree(subtrees[i], roots[i].as_root());
    }
  });
  for (std::size_t i = 0; i < roots.size(); ++i)
    attach(nodes, static_cast<std::size_t>(roots[i].index), subtrees[i]);
}

// Breadth-first growth with all threads on each node. The subtree of a node with few rows is grown by one thread. With
// ranks, all ranks process every node together, so there are no such subtrees.
template <class Work, class MakeSerial>
void grow_breadth_first(Work& work, const MakeSerial& make_serial, bool has_ranks, Threads& threads,
                        std::vector<GrownNode>& nodes, ExpandEntry root) {
  std::deque<ExpandEntry> open;
  std::vector<ExpandEntry> roots;
  const auto add = [&](ExpandEntry node) {
    const bool is_small = nodes[node.index].size() <= kSubtreeRows;
    if (is_small && !has_ranks)
      roots.push_back(node);
    else
      open.push_back(node);
  };
  for (const ExpandEntry& node : work.expand_level_wise(nodes, root)) add(node);
  while (!open.empty()) {
    const ExpandEntry next = open.front();
    open.pop_front();
    for (const ExpandEntry& child : work.expand(nodes, next)) add(child);
  }
  grow_subtrees(make_serial, threads, nodes, roots);
}

template <class Work, class MakeSerial>
std::vector<GrownNode> grow_in_order(Work& work, const MakeSerial& make_serial, int max_leaves,
                                     bool has_ranks, Threads& threads) {
  std::vector<GrownNode> nodes;
  const ExpandEntry root = work.begin(nodes);
  if (!nodes[0].split.exists()) return nodes;
  if (max_leaves > 0 && threads.count() > 1 && !has_ranks)
    BestFirst(work, make_serial, threads, nodes).grow(root, max_leaves);
  else if (max_leaves > 0)
    grow_best_first(work, nodes, root, max_leaves);
  else
    grow_breadth_first(work, make_serial, has_ranks, threads, nodes, root);
  return nodes;
}

}  // namespace tutti::learn::tree
