// One call of a collective: what the caller gave, and the record of it that peers and people see.
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
  std::vector<std::int64_t> counts = {};  // pieces per rank, as plan::Request has them
  std::vector<std::int64_t> send_counts = {};
  std::vector<std::int64_t> receive_counts = {};
  // First elements of the pieces in a buffer with one per rank; empty: they are contiguous.
  std::vector<std::int64_t> offsets = {};
  std::string_view name = {};  // the tensor's or bucket's; part of the fingerprint
  double timeout = 0;          // s; 0: the communicator's

  // The input (of the root, if there is one) consists of one piece per rank.
  bool has_pieces_in_input() const {
    return collective == plan::Collective::kReduceScatter ||
           collective == plan::Collective::kScatter || collective == plan::Collective::kAllToAll;
  }
  bool has_pieces_in_output() const {
    return collective == plan::Collective::kAllGather || collective == plan::Collective::kGather ||
           collective == plan::Collective::kAllToAll;
  }
};

// What identifies an operation: 64 bytes, sent to peers and kept in the flight record. All ranks
// must agree on everything but `sequence`'s meaning in time; `agrees_with` compares just that.
struct OpRecord {
  std::uint64_t sequence = 0;
  std::int64_t count = 0;
  std::uint64_t name_hash = 0;
  plan::Collective collective = plan::Collective::kBarrier;
  DType dtype = DType::kU8;
  ReduceOp op = ReduceOp::kSum;
  std::uint8_t reserved = 0;
  std::int32_t root = 0;
  std::array<char, 32> name = {};  // cut to 31 letters, ends with 0

  static OpRecord of(const Operation& operation, std::uint64_t sequence);
  bool agrees_with(const OpRecord& other) const {
    return sequence == other.sequence && count == other.count && name_hash == other.name_hash &&
           collective == other.collective && dtype == other.dtype && op == other.op &&
           root == other.root;
  }
  // Equal for records that agree; different, but for chance, for others.
  std::uint64_t fingerprint() const;
  // "all_reduce #812 'conv1.w' (1024 x f32, sum)"
  std::string text() const;
};
static_assert(sizeof(OpRecord) == 64);

// The failure of two ranks that are in different operations; names both sides.
Result disagreement(int rank, const OpRecord& mine, int other, const OpRecord& theirs);

}  // namespace tutti::comm
