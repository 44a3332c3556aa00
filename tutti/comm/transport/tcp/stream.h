// Messages to and from one peer over one TCP connection.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tutti/comm/transport/message.h"
#include "tutti/comm/transport/tcp/listener.h"

namespace tutti::comm {

// What is posted leaves with the next `write`, all of it in one call of the kernel where it fits:
// so a greeting and the data behind it are one packet. What arrives is read ahead by some
// kilobytes, so small messages cost one call too; large ones go straight to their receives. Nothing
// is read while no receive waits, so a sender nobody listens to stops when the kernel's buffers are
// full.
class Stream : public MessageEnds {
 public:
  explicit Stream(int peer) : peer_(peer) {}
  // What was given to the kernel still arrives.
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int peer() const { return peer_; }
  // Takes over a connection that is established.
  void open(os::UniqueFd file);
  bool is_open() const { return file_.is_open(); }
  int file() const { return file_.get(); }
  bool wants_to_read() const { return !inbox_.is_idle(); }
  bool wants_to_write() const { return !queue_.empty(); }
  bool is_active() const { return wants_to_read() || wants_to_write(); }

  // Moves what can be moved; whether that was anything.
  bool read();
  bool write();

  // The connection broke or could not be made. A process that dies is reported by who watches it,
  // with better words; so this becomes an error only when nobody has said more for a while.
  void lose();
  bool is_lost() const { return lost_ns_ != 0; }
  std::string loss() const;  // the same for people
  Result trouble() const override;

  void post_send(Message* message) override;
  void withdraw_send(Message* message) override;
  void post_receive(Message* message) override;
  void withdraw_receive(Message* message) override { inbox_.withdraw(message); }

 private:
  static constexpr std::size_t kFragmentBytes = std::size_t{1} << 20;
  static constexpr std::size_t kReadAheadBytes = 32 * 1024;
  static constexpr std::int64_t kGraceTime = 3'000'000'000;
  // A message in the queue: the rest of a header, then the rest of its fragment.
  struct Entry {
    Message* message = nullptr;        // nullptr: given up
    std::vector<std::byte> rest = {};  // of the fragment, when given up
    FragmentHeader header = {};
    std::size_t header_left = 0;
    std::size_t fragment_left = 0;
    bool is_last = false;  // nothing follows this fragment
  };
  static void begin_fragment(Entry& entry);
  // The bytes were sent from the front of the queue.
  void note_sent(std::size_t bytes);
  static bool note_sent(Entry& entry, std::size_t* bytes);
  // Sorts what was read ahead; false when more must be read.
  bool sort();

  const int peer_;
  os::UniqueFd file_;
  std::int64_t lost_ns_ = 0;
  std::deque<Entry> queue_;
  Inbox inbox_;
  std::vector<std::byte> ahead_;  // read, not sorted yet: [begin_, end_)
  std::size_t begin_ = 0, end_ = 0;
  std::size_t incoming_left_ = 0;  // of the fragment that is arriving
};

}  // namespace tutti::comm
