// All-reduce of ranks on one host, with the protocols of plan/algorithms/host.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/comm/transport/shm/host_slots.h"

namespace tutti::comm {

class HostAllReduce {
 public:
  // Both must outlive this object.
  HostAllReduce(HostGroup& host, HostSlots& slots);

  // Runs a kHostAllReduce step. All ranks of the communicator are on this host.
  Result run(const plan::Step& step, const Operation& operation, const OpRecord& record);
  // Name of the algorithm of the protocol that ran last.
  const char* last_row() const { return last_row_; }

 private:
  struct Slice {
    std::int64_t begin, count;
  };
  int size() const { return host_.size(); }
  Slice slice_of(int member, std::int64_t count, std::size_t element_bytes) const;
  Result eager(const Operation& operation, const OpRecord& record);
  Result post(const Operation& operation, const OpRecord& record, bool* all_in_library);
  Result direct(const Operation& operation);
  void reduce_pieces(const Operation& operation, int owner);
  Result staged(const Operation& operation);

  HostGroup& host_;
  HostSlots& slots_;
  std::uint32_t post_turn_ = 0;
  std::uint32_t stage_turn_ = 0;
  const char* last_row_ = "";
  // Reused by all calls, so the hot path does not allocate.
  std::vector<const void*> sources_;
  std::vector<void*> targets_;
  std::vector<std::byte*> inputs_, outputs_;
};

}  // namespace tutti::comm
