// Growth of one tree on sparse binned data with very many columns, of which a row has few.
//
// 1. The histogram of a node is the list of the slots that occur in its rows, with their sums (slot_sums.h). A root
//    with E entries costs E additions. Below it, only the entries of the smaller child of a split are added; the list
//    of the larger child is that of the parent minus that of the smaller one.
// 2. The search visits the list, never absent columns (slot_search.h).
// 3. A node is partitioned by a byte per row: the rows of the slots that leave the side of the default bin are marked
//    from the lists of rows per slot. A small node looks up its rows instead.
// 4. With columns sampled per node, a column without entries in the node is constant and never counts as tried. Small
//    nodes draw from the columns of their list, large nodes sum the drawn columns one by one (sampled_search.h).
// All sums are sums of integers and columns are searched by SplitSearch, so the tree is that of `grow` on the same
// values, for any number of threads and ranks. With ranks, sums of all slots are reduce-scattered by column.
#pragma once

#include <vector>

#include "tutti/learn/tree/bins/sparse_binned_data.h"
#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

template <class Record>
struct SparseGrowth {
  const SparseBinnedData& data;
  const SplitSearch& search;
  const GrowOptions& options;
  Records<Record>& records;
  Records<Record>& scratch;  // as large as `records`
  comm::Communicator* communicator = nullptr;
};

// Like `grow`, but the records of all nodes are partitioned.
template <class Record>
std::vector<GrownNode> grow_sparse(const SparseGrowth<Record>& growth, Threads& threads);

}  // namespace tutti::learn::tree
