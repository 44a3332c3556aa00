// Message matching shared by the wires that move bytes themselves (TCP, shared-memory pipes).
//
// A sender splits each message into fragments with a header; messages of one peer arrive in order. When the first
// fragment of a message arrives, the Inbox looks for a posted receive of its channel and size. If there is one and no
// older message of the channel is queued, the bytes are written directly to the memory of the receive. Otherwise the
// Inbox allocates a buffer and appends it to the unexpected-message queue of the channel; the next receive of that
// channel takes the oldest queued message. A receive whose size differs from the message fails with DDL-6-02. A
// cancelled receive leaves the bytes that have arrived to the next receive of the channel. A cancelled send ends its
// message with a kCancelled fragment, and the receiver discards what it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "tutti/comm/transport/transport.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// One end of a message. The caller that posts it keeps it alive until it is done or cancelled.
struct Message {
  enum class State { kWaiting, kDone, kWrongSize };

  int channel = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t moved = 0;
  bool is_started = false;
  std::size_t bytes_of_other_end = 0;
  State state = State::kWaiting;
};

// Header of a fragment. Messages are sent in fragments, so a cancelled message can end early.
struct FragmentHeader {
  std::int32_t channel = 0;
  std::uint32_t bytes = 0;  // length of this fragment; kCancelled: the message is cancelled
  std::uint64_t message_bytes = 0;
};
inline constexpr std::uint32_t kCancelled = UINT32_MAX;

// Receive side of one peer: posted receives and unexpected messages.
class Inbox {
 public:
  void post(Message* receive);
  // Cancels the receive. Its memory is no longer written; bytes that have arrived are kept for the next receive.
  void cancel(Message* receive);
  // True if no receive is waiting, so the caller need not read from the peer.
  bool is_idle() const { return waiting_ == 0; }

  // Delivers the incoming message: `begin`, then `arrived` for each number of bytes written to `write_position`.
  void begin(int channel, std::size_t bytes);
  bool is_open() const { return current_.is_open; }
  std::byte* write_position() const { return current_.target + current_.arrived; }
  void arrived(std::size_t bytes);
  // Discards the incoming message because its sender has cancelled it.
  void discard();

 private:
  struct UnexpectedMessage {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes = 0;
    bool is_complete = false;
  };
  struct Channel {
    std::deque<Message*> posted;
    std::deque<UnexpectedMessage> unexpected;
  };
  // The message that is arriving. Its receive, if it has one, has been removed from `posted`.
  struct Current {
    bool is_open = false;
    int channel = 0;
    std::size_t bytes = 0;
    std::size_t arrived = 0;
    Message* receive = nullptr;
    std::byte* target = nullptr;
  };
  void queue_current();
  // Delivers complete unexpected messages to the receives that wait for them.
  void settle(int number);
  void finish(Message& receive, std::size_t arrived_bytes);

  std::map<int, Channel> channels_;  // channels that are not empty
  Current current_;
  int waiting_ = 0;  // number of waiting receives
};

// Both directions of the connection to one peer. Called with the lock of the wire held.
class MessageEnds {
 public:
  virtual ~MessageEnds() = default;
  virtual void post_send(Message* message) = 0;
  // Cancels the send: its memory is no longer read. If part of the message has been sent, the peer is notified.
  virtual void cancel_send(Message* message) = 0;
  virtual void post_receive(Message* message) = 0;
  virtual void cancel_receive(Message* message) = 0;
  // Returns a failure if no more data can arrive.
  virtual Result trouble() const { return Result::ok(); }
};

// Loopback to this rank: a message arrives as soon as it is sent.
class OwnEnds : public MessageEnds {
 public:
  void post_send(Message* message) override;
  void cancel_send(Message* /*message*/) override {}
  void post_receive(Message* message) override { inbox_.post(message); }
  void cancel_receive(Message* message) override { inbox_.cancel(message); }

 private:
  Inbox inbox_;
};

// A wire made of MessageEnds. `test` of any transfer makes progress on all of them. The wire must outlive its
// transfers.
class MessageWire : public Wire {
 public:
  std::unique_ptr<Transfer> send(int peer, int channel, const void* data, std::size_t bytes) final;
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) final;

 protected:
  // Called with the lock held. `ends_to` throws ConfigError if `peer` is not a rank of the job.
  virtual MessageEnds& ends_to(int peer) TUTTI_REQUIRES(mutex_) = 0;
  virtual void progress() TUTTI_REQUIRES(mutex_) = 0;
  Mutex mutex_;

 private:
  class MessageTransfer;
};

}  // namespace tutti::comm
