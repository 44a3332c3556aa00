// What wires that move bytes themselves have in common: messages under way, and how those of one
// peer find the receives that wait for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "tutti/comm/transport/transport.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// A message as its sender or receiver knows it. Whoever posts it keeps it until it is done or
// withdrawn.
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

// Messages travel in fragments, each behind one of these, so that one given up can end early.
struct FragmentHeader {
  std::int32_t channel = 0;
  std::uint32_t bytes = 0;  // of this fragment; kGivenUp: the message ends here, without a rest
  std::uint64_t message_bytes = 0;
};
inline constexpr std::uint32_t kGivenUp = UINT32_MAX;

// Where one peer's messages go. One that arrives before its receive is kept in ordinary memory.
class Inbox {
 public:
  void post(Message* receive);
  // The message's memory is not written any more; what has arrived is left to the next receive.
  void withdraw(Message* receive);
  // Nobody waits, so nothing need be taken from the peer.
  bool is_idle() const { return waiting_ == 0; }

  // The message that is arriving: `begin`, then `arrived` for what was written to `place`.
  void begin(int channel, std::size_t bytes);
  bool is_open() const { return current_.is_open; }
  std::byte* place() const { return current_.target + current_.arrived; }
  void arrived(std::size_t bytes);
  // As if it had never begun.
  void give_up();

 private:
  struct Stashed {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes = 0;
    bool is_complete = false;
  };
  struct Channel {
    std::deque<Message*> posted;
    std::deque<Stashed> stash;
  };
  // Its receive, if it has one, no longer is among the posted.
  struct Current {
    bool is_open = false;
    int channel = 0;
    std::size_t bytes = 0;
    std::size_t arrived = 0;
    Message* receive = nullptr;
    std::byte* target = nullptr;
  };
  void stash_current();
  // Hands complete messages of the stash to the receives that wait for them.
  void settle(int number);
  void finish(Message& receive, std::size_t arrived_bytes);

  std::map<int, Channel> channels_;  // those with something in them
  Current current_;
  int waiting_ = 0;  // receives
};

// Both directions to one peer. Called with the wire's lock held.
class MessageEnds {
 public:
  virtual ~MessageEnds() = default;
  virtual void post_send(Message* message) = 0;
  // The message's memory is not read any more; when the peer has seen its beginning, it is told.
  virtual void withdraw_send(Message* message) = 0;
  virtual void post_receive(Message* message) = 0;
  virtual void withdraw_receive(Message* message) = 0;
  // Why nothing will come any more, if so.
  virtual Result trouble() const { return Result::ok(); }
};

// To this rank itself: a message is there as soon as it is sent.
class OwnEnds : public MessageEnds {
 public:
  void post_send(Message* message) override;
  void withdraw_send(Message* /*message*/) override {}
  void post_receive(Message* message) override { inbox_.post(message); }
  void withdraw_receive(Message* message) override { inbox_.withdraw(message); }

 private:
  Inbox inbox_;
};

// A wire of such ends. Any transfer's `test` drives all of them. A transfer must end before its
// wire.
class MessageWire : public Wire {
 public:
  std::unique_ptr<Transfer> send(int peer, int channel, const void* data, std::size_t bytes) final;
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) final;

 protected:
  // Throws ConfigError if there is no such peer.
  virtual MessageEnds& ends_to(int peer) TUTTI_REQUIRES(mutex_) = 0;
  virtual void progress() TUTTI_REQUIRES(mutex_) = 0;
  Mutex mutex_;

 private:
  class MessageTransfer;
};

}  // namespace tutti::comm
