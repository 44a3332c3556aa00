// State of growing one tree: options, nodes, and operations on the list of nodes.
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
  int max_leaves = 0;  // 0: no limit; else the most useful splits come first
  double min_samples_split = 2;
  double min_gain = 0;             // a split must explain more
  bool is_classification = false;  // gradients are weights of a class, in hessians' unit: split
                                   // while there are two
  int columns_per_node = 0;        // 0: all that are allowed
  std::vector<int> columns = {};   // allowed in this tree, ascending
  std::uint64_t seed = 0;
  // false: every row weighs one and nobody asks for the rows of leaves, so those of the last level,
  // and all of subtrees that do it elsewhere, need not be partitioned in `records`.
  bool keeps_last_rows = true;
};

struct GrownNode {
  Split split;  // of inner nodes
  NodeSums sums;
  std::int64_t begin = 0, end = 0;  // its records, of this rank
  std::int32_t left = -1, right = -1;
  int depth = 0;
  std::uint64_t path = 0;  // a random number of its own, made from the way to it

  std::int64_t size() const { return end - begin; }
};

// Inputs of one growth.
template <class Record>
struct Growth {
  const BinnedData& data;
  const SplitSearch& search;
  const GrowOptions& options;
  Records<Record>& records;
  Records<Record>& scratch;  // as large as `records`
  comm::Communicator* communicator = nullptr;
  // Of a subtree: where its root stands in the tree. A path of 0: it is the root of the tree.
  struct Root {
    int depth = 0;
    std::uint64_t path = 0;
  };
  Root root = {};
  bool has_room = true;  // for copies that make it faster
  // Where the records of all rows of `data` come from, if they are not there yet: growing makes
  // them when it needs them, and may do without.
  const RecordSource<Record>* source = nullptr;
};

// Orders nodes by gain, the highest last; of equal gains the older node is last.
struct HasLowerGain {
  const std::vector<GrownNode>& nodes;
  bool operator()(std::int32_t a, std::int32_t b) const {
    const double gain_a = nodes[a].split.gain;
    const double gain_b = nodes[b].split.gain;
    return gain_a != gain_b ? gain_a < gain_b : a > b;
  }
};

// Prunes a tree that has more nodes than it may to the splits of highest gain: those that
// best-first growth would have used.
std::vector<GrownNode> take_best(const std::vector<GrownNode>& grown, int max_leaves);

// Puts two children at the end of `nodes` and below nodes[parent]: the first `left_size` of its
// records are the left one's. Returns where that stands; the right one comes next. Their sums are
// set by the caller.
std::int32_t add_children(std::vector<GrownNode>& nodes, std::int32_t parent,
                          std::int64_t left_size);

// Puts the nodes of `subtree` below its root, which is nodes[at], at the end of `nodes`.
void attach(std::vector<GrownNode>& nodes, std::size_t at, std::vector<GrownNode>& subtree);

// Renumbers so that every node comes before its children, left before right. `values` are set by
// the caller. `tree_index[i]` is where the grown node i went.
Tree to_tree(const std::vector<GrownNode>& grown, const Bins& bins, const SplitRules& rules,
             std::vector<std::int32_t>& tree_index);

}  // namespace tutti::learn::tree
