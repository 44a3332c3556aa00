// Decision trees after growth or import.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::learn::tree {

struct Node {
  std::int32_t left = -1, right = -1;  // indices in Tree::nodes; -1: leaf
  std::int32_t column = -1;
  std::int32_t categories = -1;  // index in Tree::category_sets; -1: numeric column
  double threshold = 0;          // numeric: values up to this one go left
  bool missing_left = false;     // for NaN and unknown categories
  double gain = 0;               // of the split
  double cover = 0;              // sum of weights or hessians of the training rows
  std::int64_t count = 0;        // number of training rows

  bool is_leaf() const { return left < 0; }
};

struct Tree {
  std::vector<Node> nodes;  // root first, parents before children
  int outputs = 1;
  std::vector<double> values;  // `outputs` per node
  // Codes that go left, and all codes that occurred during training; both ascending.
  struct CategorySet {
    std::vector<std::int64_t> left, known;
  };
  std::vector<CategorySet> category_sets;

  std::span<const double> value(std::int32_t node) const {
    return {values.data() + static_cast<std::size_t>(node) * static_cast<std::size_t>(outputs),
            static_cast<std::size_t>(outputs)};
  }
  // Whether `value` goes left at `node`.
  bool goes_left(const Node& node, double value) const;
  // Index of the leaf of a row.
  std::int32_t leaf_of(std::span<const double> row) const;
  int leaves() const;
  int depth() const;  // 0: the root is a leaf
};

}  // namespace tutti::learn::tree
