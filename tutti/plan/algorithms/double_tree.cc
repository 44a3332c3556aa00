// Double binary tree (Sanders, Speck and Traeff 2009): the latency of a tree with the bandwidth of a ring, provided
// there are enough lanes to fill the pipeline.
//
// Two binary trees over the same n ranks, each of depth ceil(log2 n). In the first, odd positions are leaves. The
// second is its mirror image (n even) or the same tree shifted by one (n odd), so even positions are leaves. A rank
// that is an inner node in one tree is therefore a leaf in the other. Lanes alternate between the trees, so each tree
// carries half of the vector.
//
// - all_reduce. At the start each rank holds its vector. Up: every node reduces the data of its children into its
//   vector and sends the result to its parent; at the end the root holds the reduction over all ranks. Down: every node
//   receives the result from its parent and forwards it to its children. At most 3 messages per node and level in each
//   direction; each rank sends 2 S bytes over both trees.
// - broadcast, reduce. The trees span all ranks except the root, which feeds (or drains) the top of each.
#include "tutti/plan/algorithms/double_tree.h"

#include <bit>

#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

bool double_tree_supports(Collective collective, const Shape& shape) {
  if (collective == Collective::kBroadcast) return true;
  return !shape.reproducible &&
         (collective == Collective::kAllReduce || collective == Collective::kReduce);
}

int depth_of(int ranks) {
  return ranks < 2 ? 0 : static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

// A node handles its two messages of a level sequentially. After the first lane the pipeline is full.
Cost double_tree_cost(Collective collective, int ranks, double bytes, int lanes) {
  const bool both_ways = collective == Collective::kAllReduce;
  const double way = both_ways ? 2 * depth_of(ranks) : 1 + 2 * depth_of(ranks - 1);
  const double steps = both_ways ? 2 * way : way;
  const double filled = both_ways ? 2 : 1;
  return {steps, lanes == 1 ? steps * bytes : filled * bytes + steps * bytes / lanes};
}

// In-order tree: the lowest set bit of an index is its height. Index 0 is the root, with one child.
TreeNode in_order_node(int index, int size) {
  const auto top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
  TreeNode node;
  const int height = index == 0 ? top : index & -index;
  if (index > 0) {
    node.parent = (index ^ height) | (height << 1);
    if (node.parent >= size) node.parent = index ^ height;
    node.children[0] = height > 1 ? index - height / 2 : -1;
  }
  int step = height / 2;
  while (step > 0 && index + step >= size) step /= 2;
  node.children[1] = step > 0 ? index + step : -1;
  return node;
}

// One rank's parent and children in a tree, as ranks; -1: none.
struct BinaryTree {
  Builder& builder;
  const Subgroup& subgroup;
  const Range& range;
  int parent;
  int children[2];

  void up(bool completes) const {
    for (int c = 0; c < 2; ++c) {
      if (children[c] < 0) continue;
      const bool is_last = c == 1 || children[1] < 0;
      builder.receive(subgroup, children[c], range,
                      {.reduce = true, .completes = completes && parent < 0 && is_last});
    }
    if (parent >= 0) builder.send(subgroup, parent, range);
  }
  void down() const {
    if (parent >= 0) builder.receive(subgroup, parent, range);
    for (const int child : children) {
      if (child >= 0) builder.send(subgroup, child, range);
    }
  }
};

BinaryTree tree_of_all(Builder& builder, const SubgroupTask& task, int tree) {
  const auto rank = [&](int i) { return i < 0 ? -1 : task.subgroup.ranks[i]; };
  const TreeNode node = tree_node(task.subgroup.index, task.subgroup.size(), tree);
  return {builder,
          task.subgroup,
          task.range,
          rank(node.parent),
          {rank(node.children[0]), rank(node.children[1])}};
}

// A tree over all other ranks, with the root above it.
BinaryTree tree_below_root(Builder& builder, const SubgroupTask& task, int tree) {
  const Subgroup& subgroup = task.subgroup;
  const int others = subgroup.size() - 1;
  const auto rank = [&](int i) { return i < 0 ? -1 : subgroup.ranks[i < task.root ? i : i + 1]; };
  if (subgroup.index == task.root) {
    int top = 0;
    while (tree_node(top, others, tree).parent >= 0) ++top;
    return {builder, subgroup, task.range, -1, {rank(top), -1}};
  }
  const int index = subgroup.index < task.root ? subgroup.index : subgroup.index - 1;
  const TreeNode node = tree_node(index, others, tree);
  const int parent = node.parent < 0 ? subgroup.ranks[task.root] : rank(node.parent);
  return {builder, subgroup, task.range, parent, {rank(node.children[0]), rank(node.children[1])}};
}

void build_double_tree(Builder& builder, const SubgroupTask& task) {
  const int tree = builder.lane() % 2;
  if (task.collective == Collective::kAllReduce) {
    const BinaryTree both = tree_of_all(builder, task, tree);
    both.up(task.completes);
    both.down();
  } else {
    const BinaryTree way = tree_below_root(builder, task, tree);
    if (task.collective == Collective::kReduce) way.up(task.completes);
    if (task.collective == Collective::kBroadcast) way.down();
  }
}

}  // namespace

TreeNode tree_node(int index, int size, int tree) {
  if (tree == 0) return in_order_node(index, size);
  const bool mirrors = size % 2 == 0;
  const auto map = [&](int i) { return mirrors ? size - 1 - i : (i + size - 1) % size; };
  const auto back = [&](int i) {
    if (i < 0) return -1;
    return mirrors ? size - 1 - i : (i + 1) % size;
  };
  const TreeNode node = in_order_node(map(index), size);
  return {back(node.parent), {back(node.children[0]), back(node.children[1])}};
}

Algorithm double_tree() {
  return {"double_tree",
          "two binary trees, each rank a leaf in one; few steps, full links with lanes",
          "",
          double_tree_supports,
          double_tree_cost,
          build_double_tree};
}

}  // namespace tutti::plan
