// Grows one tree on rows whose bins are in a file, with a limited amount of memory.
//
// Large nodes are split by passes over the file. A pass takes block after block: it makes the
// records of the block's rows anew, parts them down the nodes that are there, and adds them to the
// histograms of the open ones. Nodes whose rows fit into memory are gathered, several in one pass,
// and grow there as in any other fit. So the file holds bins and nothing else, nothing is written
// after it is made, and with data of s times the memory there are about log2(s) + s passes for each
// tree, however deep it is. Sums are of whole numbers: the tree has the bits of one grown in
// memory.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

template <class Record>
struct ExternalMemoryGrowth {
  const BinnedData& data;
  const SplitSearch& search;
  const GrowOptions& options;
  const RecordSource<Record>& records;
  std::int64_t memory = 0;  // bytes it may use
  comm::Communicator* communicator = nullptr;
};

// As `grow`, but nodes do not tell which records they have. With a communicator all ranks make
// their passes together, and a node is gathered when every rank has room for its part. Throws
// ConfigError (DDL-9-27) on all ranks when the memory of one is too little, and says how much is
// needed.
template <class Record>
std::vector<GrownNode> grow_external_memory(const ExternalMemoryGrowth<Record>& growth,
                                            Threads& threads);

// The resident set of this process that a fit must not exceed.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::int64_t bytes) : bytes_(bytes) {}

  bool exists() const { return bytes_ > 0; }
  // What may still be used, less an eighth for what nobody counts. Gives free memory back first.
  std::int64_t left() const;
  // Throws ConfigError (DDL-9-27) unless so much is left, on every rank if there are some.
  void check(std::int64_t needed, const char* what, comm::Communicator* communicator) const;

 private:
  std::int64_t bytes_;
};

// Bins of the rows: in memory, or under a limit in a file of the temporary folder. Throws
// ConfigError (DDL-9-27) when the limit is too little.
struct BinnedRows {
  Bins bins;
  BinnedData data;
};
BinnedRows find_and_bin(const Matrix& matrix, const BinOptions& options, const MemoryLimit& limit,
                        Threads& threads, comm::Communicator* communicator);

}  // namespace tutti::learn::tree
