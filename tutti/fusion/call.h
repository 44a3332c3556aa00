// One named tensor, or group of tensors, given to the fusion engine.
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
  Buffer output;  // the input's memory, or apart from it; nothing where the engine allocates it
};

struct Call {
  std::string name;  // the same on all ranks; once at a time
  Kind kind = Kind::kAllReduce;
  std::vector<Tensor> tensors = {};  // of one type; they go together
  ReduceOp op = ReduceOp::kSum;
  int root = 0;                             // kBroadcast
  double prescale = 1, postscale = 1;       // before and after a reduction; integers are cut
  comm::Codec compression = comm::Codec();  // kAllReduce of f32 sums and averages
  int priority = 0;                         // lower goes first: what the next step needs first
  bool is_alone = false;                    // is not fused with others
  bool is_kept = true;                      // false: a name that will not come again
  // kAllGather: rows of each tensor. kAllToAll: rows that go to each rank. kReduceScatter: rows of
  // each tensor; they are dealt evenly, the first ranks have one more.
  std::vector<std::int64_t> rows = {};
  std::vector<std::int64_t> row_elements = {};  // of each tensor, with `rows`
  std::string shape = {};                       // what else ranks must agree on, in words: "17x3"
};

// What kAllGather and kAllToAll bring, which nobody knows before: by tensor the rows from each
// rank, and the elements in rank order.
struct Gathered {
  std::vector<std::vector<std::int64_t>> rows;
  std::vector<std::unique_ptr<std::byte[]>> memory;
};

struct Ticket {
  comm::Work work;
  std::shared_ptr<Gathered> gathered;  // complete when the work is
};

// What the other ranks must have too. Throws ConfigError when the call cannot be.
Signature signature_of(const Call& call, int size);
// Which of `rows` a rank has after kReduceScatter.
std::int64_t dealt_rows(std::int64_t rows, int rank, int size);

}  // namespace tutti::fusion
