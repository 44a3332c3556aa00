// Publishes the message that this rank is blocked on to the ranks of its host.
#pragma once

#include <cstdint>

#include "tutti/comm/transport/shm/host_control_block.h"
#include "tutti/core/dtype.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// One end of a point-to-point message.
struct MessageEnd {
  bool is_send = false;
  int peer = 0;  // -1: any rank
  int tag = 0;
  std::int64_t count = 0;
  DType dtype = DType::kU8;
};

// Peers read this state from the shared control block when they report a stall. The object keeps the control block
// mapped, so a thread may still be blocked when the communicator is destroyed. Thread-safe.
class MessageWaits {
 public:
  MessageWaits(HostControlBlock control_block, int member)
      : control_block_(std::move(control_block)), member_(member) {}

  // Mark the start and the end of a thread's wait for a message. If several threads wait, the most recent one is
  // published.
  void begin(const MessageEnd& message);
  void end();
  // Counts outgoing messages in flight. While the count is positive, a peer may still receive what it waits for.
  void add_sends(int change) const { block().open_sends.fetch_add(change); }

 private:
  RankBlock& block() const { return control_block_.block(member_); }

  const HostControlBlock control_block_;
  const int member_;
  Mutex mutex_;
  int waiting_ TUTTI_GUARDED_BY(mutex_) = 0;
};

}  // namespace tutti::comm
