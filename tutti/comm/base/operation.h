// Arguments of one collective call, and the record of it that other ranks and the flight record see.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/core/dtype.h"
#include "tutti/core/result.h"
#include "tutti/plan/plan.h"

namespace tutti::comm {

struct Operation {
  plan::Collective collective = plan::Collective::kAllReduce;
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  const void* input = nullptr;
  void* output = nullptr;
  std::int64_t count = 0;                 // all_reduce, broadcast, reduce
  std::vector<std::int64_t> counts = {};  // elements per rank, as in plan::Request
  std::vector<std::int64_t> send_counts = {};
  std::vector<std::int64_t> receive_counts = {};
  // First element of each rank's piece in a buffer with one piece per rank; empty: the pieces are contiguous.
  std::vector<std::int64_t> offsets = {};
  std::string_view name = {};  // of the tensor or bucket; part of the fingerprint
  double timeout = 0;          // s; 0: the communicator's timeout

  // True if the input (of the root, for rooted collectives) consists of one piece per rank.
  bool has_pieces_in_input() const {
    return collective == plan::Collective::kReduceScatter ||
           collective == plan::Collective::kScatter || collective == plan::Collective::kAllToAll;
  }
  bool has_pieces_in_output() const {
    return collective == plan::Collective::kAllGather || collective == plan::Collective::kGather ||
           collective == plan::Collective::kAllToAll;
  }
};

// Identity of an operation: 64 bytes, sent to other ranks and stored in the flight record. All ranks must agree on
// every field; `agrees_with` compares them and ignores the text of the name, which `name_hash` stands for.
struct OpRecord {
  std::uint64_t sequence = 0;
  std::int64_t count = 0;
  std::uint64_t name_hash = 0;
  plan::Collective collective = plan::Collective::kBarrier;
  DType dtype = DType::kU8;
  ReduceOp op = ReduceOp::kSum;
  std::uint8_t reserved = 0;
  std::int32_t root = 0;
  std::array<char, 32> name = {};  // truncated to 31 characters, null-terminated

  static OpRecord of(const Operation& operation, std::uint64_t sequence);
  bool agrees_with(const OpRecord& other) const {
    return sequence == other.sequence && count == other.count && name_hash == other.name_hash &&
           collective == other.collective && dtype == other.dtype && op == other.op &&
           root == other.root;
  }
  // Hash of the record: equal for records that agree.
  std::uint64_t fingerprint() const;
  // "all_reduce #812 'conv1.w' (1024 x f32, sum)"
  std::string text() const;
};
static_assert(sizeof(OpRecord) == 64);

// Returns the failure for two ranks that are in different operations. The message names both sides.
Result disagreement(int rank, const OpRecord& mine, int other, const OpRecord& theirs);

}  // namespace tutti::comm
