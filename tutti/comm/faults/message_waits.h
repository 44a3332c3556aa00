// The messages that threads of this rank are blocked on, shown to the ranks of its host.
#pragma once

#include <cstdint>

#include "tutti/comm/transport/shm/host_control_block.h"
#include "tutti/core/dtype.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// One message as its end sees it.
struct MessageEnd {
  bool is_send = false;
  int peer = 0;  // -1: any rank
  int tag = 0;
  std::int64_t count = 0;
  DType dtype = DType::kU8;
};

// Peers read it from the board when they report a stall. Keeps the board mapped, so a thread may
// still be blocked when the communicator is destroyed. Safe from every thread.
class MessageWaits {
 public:
  MessageWaits(HostControlBlock board, int member) : board_(std::move(board)), member_(member) {}

  // A thread begins, or ends, to wait for a message. With several threads the last one is shown.
  void begin(const MessageEnd& message);
  void end();
  // Messages of this rank on their way out: while there are some, peers may get what they wait for.
  void add_sends(int change) const { block().open_sends.fetch_add(change); }

 private:
  RankBlock& block() const { return board_.block(member_); }

  const HostControlBlock board_;
  const int member_;
  Mutex mutex_;
  int waiting_ TUTTI_GUARDED_BY(mutex_) = 0;
};

}  // namespace tutti::comm
