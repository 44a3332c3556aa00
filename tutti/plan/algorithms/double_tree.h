// The two binary trees of double_tree.cc.
#pragma once

namespace tutti::plan {

struct TreeNode {
  int parent = -1;
  int children[2] = {-1, -1};
};

// Node `index` of `size` in the first (0) or second (1) tree.
TreeNode tree_node(int index, int size, int tree);

}  // namespace tutti::plan
