// The two ends of a pipe: messages of any size on many channels, over one ring.
//
// A message travels as fragments: a header, the bytes, padding to the header's size. The sender's
// messages go one after the other, in the order they were posted. The reader takes what it finds:
// straight into the memory of a receive when one waits for that channel, else into a stash, where a
// later receive finds it. It reads nothing while no receive waits for anything, so a sender nobody
// listens to stops when the ring is full.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "tutti/comm/transport/shm/internal/ring.h"

namespace tutti::comm::internal {

struct FragmentHeader {
  std::int32_t channel = 0;
  std::uint32_t bytes = 0;  // of this fragment; kGivenUp: the message ends here, without a rest
  std::uint64_t message_bytes = 0;
};
inline constexpr std::uint32_t kGivenUp = UINT32_MAX;

// Headers lie at multiples of their size, so that none wraps around the end of the ring.
inline constexpr std::size_t kHeaderBytes = sizeof(FragmentHeader);
static_assert(kRingBytes % kHeaderBytes == 0);
constexpr std::size_t padding_of(std::size_t bytes) {
  return (kHeaderBytes - bytes % kHeaderBytes) % kHeaderBytes;
}

// A message as its sender or receiver knows it. Whoever posts it keeps it until it is done or
// withdrawn.
struct PipeMessage {
  enum class State { kWaiting, kDone, kWrongSize };

  int channel = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t moved = 0;
  bool is_started = false;
  std::size_t bytes_of_other_end = 0;
  State state = State::kWaiting;
};

class PipeWriter {
 public:
  explicit PipeWriter(RingWriter ring) : ring_(ring) {}
  void post(PipeMessage* message);
  // The message's memory is not read any more; when the reader has seen its beginning, it is told.
  void withdraw(PipeMessage* message);
  // Writes what fits.
  void progress();
  bool is_idle() const { return queue_.empty(); }

 private:
  // Small enough that the reader works on one while the next is written.
  static constexpr std::size_t kFragmentBytes = 16 * 1024 - kHeaderBytes;
  bool write_fragment(PipeMessage& message);
  bool write_given_up(int channel);

  struct Entry {
    PipeMessage* message;  // nullptr: tell that the message begun on `channel` was given up
    int channel;
  };
  RingWriter ring_;
  std::deque<Entry> queue_;
};

class PipeReader {
 public:
  explicit PipeReader(RingReader ring) : ring_(ring) {}
  void post(PipeMessage* message);
  // The message's memory is not written any more; what has arrived is left to the next receive.
  void withdraw(PipeMessage* message);
  // Reads what there is, as long as somebody waits.
  void progress();
  bool is_idle() const { return waiting_ == 0; }

 private:
  struct Stashed {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes = 0;
    bool is_complete = false;
  };
  struct Channel {
    std::deque<PipeMessage*> posted;
    std::deque<Stashed> stash;
  };
  // The message being read. Its receive, if it has one, no longer is among the posted.
  struct Current {
    bool is_open = false;
    int channel = 0;
    std::size_t bytes = 0;
    std::size_t arrived = 0;
    PipeMessage* receive = nullptr;
    std::byte* target = nullptr;
  };
  void begin(const FragmentHeader& header);
  void read_fragment(const FragmentHeader& header);
  void complete();
  void give_up();
  void stash_current();
  // Hands complete messages of the stash to the receives that wait for them.
  void settle(int number);
  void finish(PipeMessage& receive, std::size_t arrived_bytes);

  RingReader ring_;
  std::map<int, Channel> channels_;  // those with something in them
  Current current_;
  int waiting_ = 0;  // receives
};

}  // namespace tutti::comm::internal
