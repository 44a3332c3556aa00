// A tree as it is used: grown, read from a file, or made by another library.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::learn::tree {

struct Node {
  std::int32_t left = -1, right = -1;  // places in Tree::nodes; -1: this is a leaf
  std::int32_t column = -1;
  std::int32_t categories = -1;  // place in Tree::category_sets; -1: a column of numbers
  double threshold = 0;          // numbers: values up to this one go left
  bool missing_left = false;     // where NaN goes, and a category that no set knows
  double gain = 0;               // what the split explains
  double cover = 0;              // weight, or hessian, of the rows that came here
  std::int64_t count = 0;        // those rows

  bool is_leaf() const { return left < 0; }
};

struct Tree {
  std::vector<Node> nodes;  // the root first, every node before its children
  int outputs = 1;
  std::vector<double> values;  // `outputs` of each node
  // Codes that go left, and all codes the node was grown with; both ascending.
  struct CategorySet {
    std::vector<std::int64_t> left, known;
  };
  std::vector<CategorySet> category_sets;

  std::span<const double> value(std::int32_t node) const {
    return {values.data() + static_cast<std::size_t>(node) * static_cast<std::size_t>(outputs),
            static_cast<std::size_t>(outputs)};
  }
  // Which way `value` goes at `node`.
  bool goes_left(const Node& node, double value) const;
  // The leaf of a row.
  std::int32_t leaf_of(std::span<const double> row) const;
  int leaves() const;
  int depth() const;  // 0: the root is a leaf
};

}  // namespace tutti::learn::tree
