// Grows one tree with cuts between any two values, not only between bins.
//
// The rows of a node are sorted anew for each column that it looks at: codes of values, gradients
// and hessians together, so that the sweep over a sorted column reads memory in order. Rows of a
// sparse matrix first deal what they hold to its columns; the rows that hold nothing of a column
// are one group, at 0, whose sums are what is missing to those of the node. So a level costs the
// sorting of what its rows hold, and columns that a node does not draw cost nothing.
#pragma once

#include <vector>

#include "tutti/learn/tree/exact/exact_data.h"
#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

template <class Record>
struct ExactGrowth {
  const ExactData& data;
  const SplitSearch& search;  // for its rules; without bins
  const GrowOptions& options;
  Records<Record>& records;
  Records<Record>& scratch;  // as large as `records`
};

// As `grow`, without ranks; splits have a threshold instead of bins. The same nodes whatever the
// threads.
template <class Record>
std::vector<GrownNode> grow_exact(const ExactGrowth<Record>& growth, Threads& threads);

// Throws ConfigError (DDL-9-28) when exact cuts do not go with what else is asked for.
void check_exact(const BinOptions& bins, std::int64_t memory_limit,
                 const comm::Communicator* communicator);

}  // namespace tutti::learn::tree
