// Inputs and nodes of the growth of one tree, and operations on the list of nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tutti/learn/tree/grow/records.h"
#include "tutti/learn/tree/model/tree.h"
#include "tutti/learn/tree/split/split.h"

namespace tutti::comm {
class Communicator;
}
namespace tutti::learn {
class Threads;
}

namespace tutti::learn::tree {

struct GrowOptions {
  int max_depth = 0;   // 0: no limit
  int max_leaves = 0;  // 0: no limit; otherwise splits of highest gain come first
  double min_samples_split = 2;
  double min_gain = 0;  // minimum gain of a split
  // Gradients are class weights in units of the hessian; pure nodes are not split.
  bool is_classification = false;
  // Gradients are labels times hessians. Nodes of equal labels are not split; others are, if need be without a gain.
  bool is_regression = false;
  int columns_per_node = 0;       // 0: all that are allowed
  std::vector<int> columns = {};  // available to this tree, ascending
  std::uint64_t seed = 0;
  // false: all sample weights are 1 and the rows of leaves are not needed, so the rows of the last level and of
  // subtrees grown elsewhere are not partitioned in `records`.
  bool keeps_last_rows = true;
};

struct GrownNode {
  Split split;  // of inner nodes
  NodeSums sums;
  std::int64_t begin = 0, end = 0;  // records on this rank
  std::int32_t left = -1, right = -1;
  int depth = 0;
  std::uint64_t path = 0;  // random number that depends on the path from the root

  std::int64_t size() const { return end - begin; }
};

// Inputs of the growth of one tree.
template <class Record>
struct Growth {
  const BinnedData& data;
  const SplitSearch& search;
  const GrowOptions& options;
  Records<Record>& records;
  Records<Record>& scratch;  // as large as `records`
  comm::Communicator* communicator = nullptr;
  // Position of the root of a subtree in the tree. Path 0: the root of the tree.
  struct Root {
    int depth = 0;
    std::uint64_t path = 0;
  };
  Root root = {};
  bool has_room = true;  // memory for copies that speed up growth
  // Source of the records of all rows of `data` if they do not exist yet. They are computed on demand, and not at all
  // in some cases.
  const RecordSource<Record>* source = nullptr;
};

// Orders nodes by gain, the highest last; among equal gains the older node is last.
struct HasLowerGain {
  const std::vector<GrownNode>& nodes;
  bool operator()(std::int32_t a, std::int32_t b) const {
    const double gain_a = nodes[a].split.gain;
    const double gain_b = nodes[b].split.gain;
    return gain_a != gain_b ? gain_a < gain_b : a > b;
  }
};

// Prunes a tree with too many leaves to the splits of highest gain: those that best-first growth would have used.
std::vector<GrownNode> take_best(const std::vector<GrownNode>& grown, int max_leaves);

// Appends two children of nodes[parent] to `nodes`; the first `left_size` records of the parent belong to the left one.
// Returns the index of the left child; the right one follows. The caller sets their sums.
std::int32_t add_children(std::vector<GrownNode>& nodes, std::int32_t parent,
                          std::int64_t left_size);

// Appends the nodes of `subtree`, whose root is nodes[at], to `nodes`.
void attach(std::vector<GrownNode>& nodes, std::size_t at, std::vector<GrownNode>& subtree);

// Renumbers the nodes: parents before children, left before right. The caller sets `values`. `tree_index[i]` is the
// index of grown node i in the tree.
Tree to_tree(const std::vector<GrownNode>& grown, const Bins& bins, const SplitRules& rules,
             std::vector<std::int32_t>& tree_index);

}  // namespace tutti::learn::tree
