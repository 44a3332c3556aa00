// The two ends of a pipe: messages of any size on many channels, over one ring.
//
// A message travels as fragments: a header, the bytes, padding to the header's size. The sender's
// messages go one after the other, in the order they were posted. The reader takes what it finds:
// straight into the memory of a receive when one waits for that channel, else into a stash, where a
// later receive finds it. It reads nothing while no receive waits for anything, so a sender nobody
// listens to stops when the ring is full.
#pragma once

#include <deque>

#include "tutti/comm/transport/message.h"
#include "tutti/comm/transport/shm/internal/ring.h"

namespace tutti::comm::internal {

// Headers lie at multiples of their size, so that none wraps around the end of the ring.
inline constexpr std::size_t kHeaderBytes = sizeof(FragmentHeader);
static_assert(kRingBytes % kHeaderBytes == 0);
constexpr std::size_t padding_of(std::size_t bytes) {
  return (kHeaderBytes - bytes % kHeaderBytes) % kHeaderBytes;
}

class PipeWriter {
 public:
  explicit PipeWriter(RingWriter ring) : ring_(ring) {}
  void post(Message* message);
  // The message's memory is not read any more; when the reader has seen its beginning, it is told.
  void cancel(Message* message);
  // Writes what fits.
  void progress();
  bool is_idle() const { return queue_.empty(); }

 private:
  // Small enough that the reader works on one while the next is written.
  static constexpr std::size_t kFragmentBytes = 16 * 1024 - kHeaderBytes;
  bool write_fragment(Message& message);
  bool write_cancelled(int channel);

  struct Entry {
    Message* message;  // nullptr: tell that the message begun on `channel` was given up
    int channel;
  };
  RingWriter ring_;
  std::deque<Entry> queue_;
};

// Into the receives that wait for them, or the inbox's stash.
class PipeReader {
 public:
  explicit PipeReader(RingReader ring) : ring_(ring) {}
  void post(Message* message);
  void cancel(Message* message) { inbox_.cancel(message); }
  // Reads what there is, as long as somebody waits.
  void progress();
  bool is_idle() const { return inbox_.is_idle(); }

 private:
  RingReader ring_;
  Inbox inbox_;
};

}  // namespace tutti::comm::internal
