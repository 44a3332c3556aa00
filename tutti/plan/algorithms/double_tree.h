// The two binary trees used by double_tree.cc.
#pragma once

namespace tutti::plan {

struct TreeNode {
  int parent = -1;
  int children[2] = {-1, -1};
};

// Returns node `index` of `size` in the first (tree = 0) or second (tree = 1) tree.
TreeNode tree_node(int index, int size, int tree);

}  // namespace tutti::plan
