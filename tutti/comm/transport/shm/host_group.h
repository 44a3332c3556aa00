// The ranks of a communicator on one host: shared memory and waits.
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
  // `ranks`: ranks of the members in the communicator, ascending. `index`: this rank's index in it. `stall_handler`
  // must outlive the group.
  HostGroup(std::vector<int> ranks, int index, HostControlBlock control_block, const Arena& arena,
            std::vector<std::unique_ptr<PeerArena>> peers, WaitPolicy policy,
            StallHandler& stall_handler);

  HostGroup(const HostGroup&) = delete;
  HostGroup& operator=(const HostGroup&) = delete;

  int size() const { return static_cast<int>(ranks_.size()); }
  int index() const { return index_; }
  const std::vector<int>& ranks() const { return ranks_; }
  int index_of(int rank) const;  // -1: not on this host
  const HostControlBlock& control_block() const { return control_block_; }
  RankBlock& mine() const { return control_block_.block(index_); }

  // Publishes the operation that this rank is in. `leave` publishes that it has left the library.
  void enter(const OpRecord& record, std::int64_t at_ticks);
  void leave(std::uint64_t sequence, std::int64_t at_ticks);

  // Waits until a flag of `member` has reached `wanted`. Fails if the stall handler does.
  Result wait(int member, Flag& flag, std::uint32_t wanted) {
    if (wait_awake(flag, wanted, policy_, backoff_)) [[likely]]
      return Result::ok();
    return wait_long(member, flag, wanted);
  }
  // The failure for two ranks that are in different operations.
  Result mismatch(int member, const OpRecord& record) const;
  // Location of memory of this rank; segment < 0: not in its arena.
  Location location_of(const void* data, std::size_t bytes) const {
    return arena_.find(data, bytes).value_or(Location{});
  }
  Result resolve(int member, Location location, std::byte** address) const;

 private:
  Result wait_long(int member, Flag& flag, std::uint32_t wanted);
  bool is_explained(std::int64_t begin_ns, std::int64_t end_ns) const;

  std::vector<int> ranks_;
  int index_;
  HostControlBlock control_block_;
  const Arena& arena_;
  std::vector<std::unique_ptr<PeerArena>> peers_;
  WaitPolicy policy_;
  SpinBackoff backoff_;
  StallHandler& stall_handler_;
};

}  // namespace tutti::comm
