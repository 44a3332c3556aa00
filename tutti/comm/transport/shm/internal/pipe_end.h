// The two ends of a pipe: messages of any size on many channels over one ring.
//
// A message is sent as fragments: a header, the bytes, and padding to the size of the header. The writer sends its
// messages in the order in which they were posted. The reader writes a fragment directly to the memory of a receive
// that waits for its channel, or else to the unexpected-message queue, where a later receive finds it. It reads nothing
// while no receive waits, so a sender without a receiver blocks when the ring is full.
#pragma once

#include <deque>

#include "tutti/comm/transport/message.h"
#include "tutti/comm/transport/shm/internal/ring.h"

namespace tutti::comm::internal {

// Headers are at multiples of their size, so none wraps around the end of the ring.
inline constexpr std::size_t kHeaderBytes = sizeof(FragmentHeader);
static_assert(kRingBytes % kHeaderBytes == 0);
constexpr std::size_t padding_of(std::size_t bytes) {
  return (kHeaderBytes - bytes % kHeaderBytes) % kHeaderBytes;
}

class PipeWriter {
 public:
  explicit PipeWriter(RingWriter ring) : ring_(ring) {}
  void post(Message* message);
  // Cancels a message: its memory is no longer read. If the reader has seen its beginning, it is notified.
  void cancel(Message* message);
  // Writes as much as fits into the ring.
  void progress();
  bool is_idle() const { return queue_.empty(); }

 private:
  // Small enough for the reader to process one fragment while the next is written.
  static constexpr std::size_t kFragmentBytes = 16 * 1024 - kHeaderBytes;
  bool write_fragment(Message& message);
  bool write_cancelled(int channel);

  struct Entry {
    Message* message;  // nullptr: the message that was begun on `channel` is cancelled
    int channel;
  };
  RingWriter ring_;
  std::deque<Entry> queue_;
};

// Delivers messages to the receives that wait for them, or to the unexpected-message queue of the inbox.
class PipeReader {
 public:
  explicit PipeReader(RingReader ring) : ring_(ring) {}
  void post(Message* message);
  void cancel(Message* message) { inbox_.cancel(message); }
  // Reads all available fragments while a receive waits.
  void progress();
  bool is_idle() const { return inbox_.is_idle(); }

 private:
  RingReader ring_;
  Inbox inbox_;
};

}  // namespace tutti::comm::internal
