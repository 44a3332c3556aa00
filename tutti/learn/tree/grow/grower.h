// Grows one tree on binned rows.
#pragma once

#include <vector>

#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

// The nodes of the tree, root first. Afterwards each node's records are [begin, end) of
// `growth.records`, if these are kept. The same nodes whatever the threads; with a communicator,
// over which every rank grows with its own rows, the same nodes as one process with all rows.
//
// Breadth first while a node's rows are more than what stays in a cache, all threads working on
// one node; then depth first, each thread with a subtree of its own. With max_leaves, best first.
template <class Record>
std::vector<GrownNode> grow(const Growth<Record>& growth, Threads& threads);

}  // namespace tutti::learn::tree
