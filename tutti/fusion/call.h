// A named tensor, or group of tensors, submitted to the fusion engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/compression.h"
#include "tutti/comm/work.h"
#include "tutti/core/buffer.h"
#include "tutti/fusion/message.h"

namespace tutti::fusion {

struct Tensor {
  ConstBuffer input;
  Buffer output;  // the input's memory or separate; empty if the engine allocates it
};

struct Call {
  std::string name;  // the same on all ranks; at most one in flight per name
  Kind kind = Kind::kAllReduce;
  std::vector<Tensor> tensors = {};  // all of one type; reduced in the same bucket
  ReduceOp op = ReduceOp::kSum;
  int root = 0;                             // kBroadcast
  double prescale = 1, postscale = 1;       // before and after a reduction; integers truncate
  comm::Codec compression = comm::Codec();  // kAllReduce of f32 sums and averages
  int priority = 0;                         // lower goes first: needed earlier in the next step
  bool no_fusion = false;                   // not fused with other tensors
  bool is_cacheable = true;                 // false: the name is not reused, so it is not cached
  // kAllGather: rows of each tensor. kAllToAll: rows for each rank. kReduceScatter: rows of each tensor, distributed
  // evenly; the first ranks receive one more if the division leaves a remainder.
  std::vector<std::int64_t> rows = {};
  std::vector<std::int64_t> row_elements = {};  // elements per row of each tensor, with `rows`
  std::string shape = {};  // further text that must match on all ranks, e.g. the shape "17x3"
};

// Result of kAllGather and kAllToAll, whose size is not known in advance. For each tensor: the number of rows from each
// rank, and the elements in rank order.
struct Gathered {
  std::vector<std::vector<std::int64_t>> rows;
  std::vector<std::unique_ptr<std::byte[]>> memory;
};

struct Ticket {
  comm::Work work;
  std::shared_ptr<Gathered> gathered;  // complete when the work is
};

// Returns the part of the call that must match on all ranks. Throws ConfigError if the call is invalid.
Signature signature_of(const Call& call, int size);
// Number of the `rows` rows that a rank receives from kReduceScatter.
std::int64_t rows_of_rank(std::int64_t rows, int rank, int size);

}  // namespace tutti::fusion
