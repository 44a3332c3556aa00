#include "tutti/comm/faults/message_waits.h"

#include "tutti/comm/observe/flight_record.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// Readers may see a partial update. That is harmless: they use it only for diagnostics.
void MessageWaits::begin(const MessageEnd& message) {
  const MutexLock lock(mutex_);
  ++waiting_;
  BlockedMessage& shown = block().message;
  shown.peer = message.peer;
  shown.tag = message.tag;
  shown.count = message.count;
  shown.dtype = static_cast<std::uint32_t>(message.dtype);
  shown.since_ticks = ticks();
  shown.kind = static_cast<std::uint32_t>(message.is_send ? BlockedMessage::Kind::kSend
                                                          : BlockedMessage::Kind::kReceive);
}

void MessageWaits::end() {
  const MutexLock lock(mutex_);
  if (--waiting_ == 0) block().message.kind = 0;
}

}  // namespace tutti::comm
