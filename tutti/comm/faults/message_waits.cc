#include "tutti/comm/faults/message_waits.h"

#include "tutti/comm/observe/flight_record.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// Readers may see a partial update. That is harmless: they use it only for diagnostics.
void MessageWaits::begin(const MessageEnd& message) {
  const MutexLock lock(mutex_);
  ++waiting_;
  BlockedMessage& blocked = block().message;
  blocked.peer = message.peer;
  blocked.tag = message.tag;
  blocked.count = message.count;
  blocked.dtype = static_cast<std::uint32_t>(message.dtype);
  blocked.since_ticks = ticks();
  blocked.kind = static_cast<std::uint32_t>(message.is_send ? BlockedMessage::Kind::kSend
                                                            : BlockedMessage::Kind::kReceive);
}

void MessageWaits::end() {
  const MutexLock lock(mutex_);
  if (--waiting_ == 0) block().message.kind = 0;
}

}  // namespace tutti::comm
