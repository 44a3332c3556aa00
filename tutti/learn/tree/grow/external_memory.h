// Growth of one tree in external memory: the bins are in a file, and memory is limited.
//
// 1. Large nodes are split by passes over the file. A pass reads block by block, computes the records of the rows of a
//    block, partitions them down the current tree, and adds them to the histograms of the open nodes.
// 2. Nodes whose rows fit into memory are gathered, several per pass, and grown like any other tree.
// The file contains only bins and is written once. If the data is s times larger than memory, a tree takes about
// log2(s) + s passes, for any depth. All sums are sums of integers, so the tree is bitwise identical to one grown in
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tutti/learn/tree/bins/sparse_binned_data.h"
#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

template <class Record>
struct ExternalMemoryGrowth {
  const BinnedData& data;
  const SplitSearch& search;
  const GrowOptions& options;
  const RecordSource<Record>& records;
  std::int64_t memory = 0;  // limit in bytes
  comm::Communicator* communicator = nullptr;
};

// Like `grow`, but nodes do not refer to records. Collective with a communicator: every pass includes all ranks, and a
// node is gathered when its part fits into memory on every rank. Throws ConfigError (DDL-9-27) on all ranks if the
// memory of one is too small; the message states the required amount.
template <class Record>
std::vector<GrownNode> grow_external_memory(const ExternalMemoryGrowth<Record>& growth,
                                            Threads& threads);

// Limit of the resident set of this process during a fit.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::int64_t bytes) : bytes_(bytes) {}

  bool exists() const { return bytes_ > 0; }
  // Remaining memory, minus one eighth as a reserve for untracked allocations. Returns free heap memory to the system
  // first.
  std::int64_t left() const;
  // Throws ConfigError (DDL-9-27) unless `needed` bytes remain, on every rank if there are ranks.
  void check(std::int64_t needed, const char* what, comm::Communicator* communicator) const;

 private:
  std::int64_t bytes_;
};

// Bin edges, and the binned rows.
struct BinnedRows {
  Bins bins;
  BinnedData data;                              // without rows if there is `sparse`
  std::optional<SparseBinnedData> sparse = {};  // instead of `data`, for sparse data in memory
};
// Finds the bins and bins the rows, in memory or, with a limit, in a file in the temporary directory. Collective with a
// communicator. Throws ConfigError (DDL-9-27) if the limit is too small.
BinnedRows find_and_bin(const Matrix& matrix, const BinOptions& options, const MemoryLimit& limit,
                        Threads& threads, comm::Communicator* communicator);

}  // namespace tutti::learn::tree
