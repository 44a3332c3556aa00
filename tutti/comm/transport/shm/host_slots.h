// Eager slots in shared memory: each member of a host publishes one small vector per turn.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/comm/transport/shm/host_group.h"

namespace tutti::comm {

// All members execute the same turns, one per operation. A vector stays valid until its member publishes another one
// two turns later, so no member may be two turns behind.
class HostSlots {
 public:
  // `host` must outlive the slots.
  explicit HostSlots(HostGroup& host) : host_(host) {}

  // Begins a turn. Each turn starts with `publish`, or with `look` on a rank that publishes nothing.
  void begin_turn() { ++turn_; }
  void look(const OpRecord& record) { fingerprint_ = record.fingerprint(); }
  void publish(const OpRecord& record, const void* data, std::size_t bytes);
  bool has_shown(int member) const { return has_reached(slot(member).flag, turn_); }
  // Waits for the vector of a member. Fails if the stall handler does.
  Result wait(int member) { return host_.wait(member, slot(member).flag, turn_); }
  // Sleeps until the member has published, at most one interval of the stall handler.
  void await(int member) { wait_asleep(slot(member).flag, turn_, StallHandler::kInterval); }
  // Returns the vector of a member. Fails if the member is in another operation.
  Result published(int member, const OpRecord& record, const std::byte** data) const {
    const EagerSlot& theirs = slot(member);
    *data = theirs.payload;
    if (theirs.fingerprint == fingerprint_) [[likely]]
      return Result::ok();
    return host_.mismatch(member, record);
  }

 private:
  EagerSlot& slot(int member) const { return host_.control_block().block(member).eager[turn_ % 2]; }

  HostGroup& host_;
  std::uint32_t turn_ = 0;
  std::uint64_t fingerprint_ = 0;  // fingerprint of the operation of this turn
};

}  // namespace tutti::comm
