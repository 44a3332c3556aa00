// The ranks of a communicator that share a host, and the all-reduce between them in shared memory.
//
// The protocols of the all-reduce are told in plan/algorithms/host.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/base/stall_handler.h"
#include "tutti/comm/transport/shm/host_control_block.h"

namespace tutti::comm {

class HostGroup {
 public:
  // `ranks`: the members' ranks in the communicator, ascending; `index`: which one this rank is.
  // `stall_handler` must outlive the group.
  HostGroup(std::vector<int> ranks, int index, HostControlBlock board, const Arena& arena,
            std::vector<std::unique_ptr<PeerArena>> peers, WaitPolicy policy,
            StallHandler& stall_handler);

  HostGroup(const HostGroup&) = delete;
  HostGroup& operator=(const HostGroup&) = delete;

  int size() const { return static_cast<int>(ranks_.size()); }
  int index() const { return index_; }
  const std::vector<int>& ranks() const { return ranks_; }
  int index_of(int rank) const;  // -1: not on this host
  const HostControlBlock& board() const { return board_; }

  // Shows peers which operation this rank is in; `leave` says that it is out of the library again.
  void enter(const OpRecord& record, std::int64_t at_ticks);
  void leave(std::uint64_t sequence, std::int64_t at_ticks);

  // A step kHostAllReduce; all ranks of the communicator are on this host.
  Result all_reduce(const plan::Step& step, const Operation& operation, const OpRecord& record);
  // The row of the protocol that the last all_reduce ran.
  const char* last_row() const { return last_row_; }

  // For planned operations. `open_windows` shows peers where this rank's memory lies (all three in
  // its arena, or nullptr when the plan does not use it); `window` is where a member's lies, known
  // after the first sync with it.
  Result open_windows(const OpRecord& record, const void* input, void* output, void* scratch);
  Result window(int member, plan::Space space, std::byte** address);
  Result check_fingerprint(int member, const OpRecord& record) const;
  void arrive(int lane, std::uint32_t count);
  bool has_arrived(int member, int lane, std::uint32_t count) const;
  // Sleeps until one member has arrived, at most one interval of stall_handler.
  void await_arrival(int member, int lane, std::uint32_t count);

  // Slots: each member shows one small vector a turn; all members begin the same turns. What was
  // shown stays until its member shows something two turns later, so nobody may be two turns
  // behind.
  void begin_turn() { ++eager_turn_; }
  void show(const OpRecord& record, const void* data, std::size_t bytes);
  bool has_shown(int member) const;
  // As await_arrival.
  void await_slot(int member);
  // What a member has shown; fails when it is in another operation.
  Result shown(int member, const OpRecord& record, const std::byte** data) const;

 private:
  struct Slice {
    std::int64_t begin, count;
  };
  RankBlock& mine() const { return board_.block(index_); }
  EagerSlot& slot(int member) const { return board_.block(member).eager[eager_turn_ % 2]; }
  Result wait(int member, Flag& flag, std::uint32_t wanted) {
    if (wait_awake(flag, wanted, policy_, backoff_)) [[likely]]
      return Result::ok();
    return wait_long(member, flag, wanted);
  }
  Result wait_long(int member, Flag& flag, std::uint32_t wanted);
  bool is_excused(std::int64_t begin_ns, std::int64_t end_ns) const;
  Result mismatch(int member, const OpRecord& record) const;
  Slice slice_of(int member, std::int64_t count, std::size_t element_bytes) const;

  Result eager(const Operation& operation, const OpRecord& record);
  Result direct(const Operation& operation);
  void fold_pieces(const Operation& operation, int owner, std::uint32_t turn);
  Result staged(const Operation& operation);
  Result post(const Operation& operation, const OpRecord& record, bool* all_in_library);
  Result resolve(int member, Location location, std::byte** address);

  std::vector<int> ranks_;
  int index_;
  HostControlBlock board_;
  const Arena& arena_;
  std::vector<std::unique_ptr<PeerArena>> peers_;
  WaitPolicy policy_;
  SpinBackoff backoff_;
  StallHandler& stall_handler_;
  std::uint32_t eager_turn_ = 0;
  std::uint32_t post_turn_ = 0;
  std::uint32_t plan_turn_ = 0;
  std::uint32_t stage_turn_ = 0;
  const char* last_row_ = "";
  // Reused by every call, so that the hot path allocates nothing.
  std::vector<const void*> sources_;
  std::vector<void*> targets_;
  std::vector<std::byte*> inputs_, outputs_;
};

}  // namespace tutti::comm
