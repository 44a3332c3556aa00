// Growth of one tree with exact splits between any two values instead of between bins.
//
// For each column that a node examines, its rows are sorted as records of value code, gradient and hessian, so the
// sweep over the sorted column reads memory sequentially. The rows of a sparse matrix are first grouped by column. Rows
// without an entry in a column form one group with value 0, whose sums are the sums of the node minus those of its
// entries. A level therefore costs one sort of the stored entries of its rows, and columns that a node does not sample
// cost nothing.
#pragma once

#include <vector>

#include "tutti/learn/tree/exact/exact_data.h"
#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

template <class Record>
struct ExactGrowth {
  const ExactData& data;
  const SplitSearch& search;  // for its rules; has no bins
  const GrowOptions& options;
  Records<Record>& records;
  Records<Record>& scratch;  // as large as `records`
};

// Like `grow`, without ranks; splits have a threshold instead of bins. The result does not depend on the number of
// threads.
template <class Record>
std::vector<GrownNode> grow_exact(const ExactGrowth<Record>& growth, Threads& threads);

// Throws ConfigError (DDL-9-28) if exact splits do not support the other options.
void check_exact(const BinOptions& bins, std::int64_t memory_limit,
                 const comm::Communicator* communicator);

}  // namespace tutti::learn::tree
