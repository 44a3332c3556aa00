// Growth of one tree on binned rows.
#pragma once

#include <vector>

#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

// Returns the nodes of the tree, root first. Afterwards the records of each node are [begin, end) of `growth.records`,
// unless keeps_last_rows is false. The result does not depend on the number of threads. With a communicator each rank
// passes its rows; the result is that of a single process with all rows.
//
// Nodes whose rows exceed the cache are expanded breadth-first, with all threads on one node; then each thread grows
// whole subtrees depth-first. With max_leaves growth is best-first.
template <class Record>
std::vector<GrownNode> grow(const Growth<Record>& growth, Threads& threads);

}  // namespace tutti::learn::tree
