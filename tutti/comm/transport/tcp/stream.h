// Messages to and from one peer over one TCP connection.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tutti/comm/transport/message.h"
#include "tutti/comm/transport/tcp/listener.h"

namespace tutti::comm {

// Posted messages leave with the next `write`, as many as fit in one system call, so an operation header and its data
// share one packet. `read` reads ahead by up to kReadAheadBytes, so small messages also cost one system call; the
// bodies of large messages are read directly into the memory of their receives. Nothing is read while no receive is
// waiting: TCP flow control then stops the sender once the socket buffers are full.
class Stream : public MessageEnds {
 public:
  explicit Stream(int peer) : peer_(peer) {}
  // Bytes already passed to the kernel still reach the peer.
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int peer() const { return peer_; }
  // Takes ownership of an established connection.
  void open(os::UniqueFd file);
  bool is_open() const { return file_.is_open(); }
  int file() const { return file_.get(); }
  bool wants_to_read() const { return !inbox_.is_idle(); }
  bool wants_to_write() const { return !queue_.empty(); }
  bool is_active() const { return wants_to_read() || wants_to_write(); }

  // Move as many bytes as possible without blocking; return true if any were moved.
  bool read();
  bool write();

  // Marks the connection as broken or impossible. The monitor reports the death of a process with a better message, so
  // `trouble` returns an error only after kGraceTime.
  void lose();
  bool is_lost() const { return lost_ns_ != 0; }
  std::string loss() const;  // human-readable
  Result trouble() const override;

  void post_send(Message* message) override;
  void cancel_send(Message* message) override;
  void post_receive(Message* message) override;
  void cancel_receive(Message* message) override { inbox_.cancel(message); }

 private:
  static constexpr std::size_t kFragmentBytes = std::size_t{1} << 20;
  static constexpr std::size_t kReadAheadBytes = 32 * 1024;
  static constexpr std::int64_t kGraceTime = 3'000'000'000;
  // A queued message: the rest of a fragment header, then the rest of the fragment.
  struct Entry {
    Message* message = nullptr;        // nullptr: cancelled
    std::vector<std::byte> rest = {};  // rest of the fragment of a cancelled message
    FragmentHeader header = {};
    std::size_t header_left = 0;
    std::size_t fragment_left = 0;
    bool is_last = false;  // this is the last fragment of the message
  };
  static void begin_fragment(Entry& entry);
  // Removes `bytes` sent bytes from the front of the queue.
  void note_sent(std::size_t bytes);
  static bool note_sent(Entry& entry, std::size_t* bytes);
  // Parses the bytes that were read ahead; returns false when more must be read.
  bool sort();

  const int peer_;
  os::UniqueFd file_;
  std::int64_t lost_ns_ = 0;
  std::deque<Entry> queue_;
  Inbox inbox_;
  std::vector<std::byte> ahead_;  // bytes read but not parsed: [begin_, end_)
  std::size_t begin_ = 0, end_ = 0;
  std::size_t incoming_left_ = 0;  // bytes left of the incoming fragment
};

}  // namespace tutti::comm
