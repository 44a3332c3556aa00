// Messages of any length between a rank and its neighbours in the tree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/comm/transport/transport.h"
#include "tutti/fusion/negotiator.h"

namespace tutti::fusion {

// Not thread-safe. No call blocks. Transfers in flight are cancelled by the destructor.
//
// Protocol: each message begins with a frame of kFrameBytes bytes that holds the length and the first bytes of the
// message. If the message is longer, the remainder follows as a second transfer of exactly that length. A short
// message therefore needs one transfer and no prior exchange of its size.
class ControlPlane {
 public:
  // `wire` must outlive this object. `channel`: this and the next channel are reserved for it.
  ControlPlane(comm::Wire& wire, int channel, const TreePosition& position);

  void send_up(const std::string& bytes) { send(position_.parent, channel_, bytes); }
  void send_down(const std::string& bytes);
  // Returns the next message, if one has arrived. Throws CommError if the transport fails.
  std::optional<std::string> from_child(std::size_t child) { return poll(children_[child]); }
  std::optional<std::string> from_parent() { return parent_ ? poll(*parent_) : std::nullopt; }
  // Makes progress on sends. Returns true if all have completed.
  bool flush();
  std::int64_t received() const { return received_; }

 private:
  // Length of the message and its first bytes; the remainder, if any, follows.
  static constexpr std::size_t kFrameBytes = 512;
  static constexpr std::size_t kFirstBytes = kFrameBytes - sizeof(std::uint64_t);
  using Frame = std::array<std::byte, kFrameBytes>;
  struct Inbox {
    int peer = 0;
    int channel = 0;
    std::unique_ptr<Frame> frame = std::make_unique<Frame>();
    std::string bytes = {};
    // Declared last: the memory they write to must outlive them.
    std::unique_ptr<comm::Transfer> head = nullptr, rest = nullptr;
  };
  struct Sent {
    std::unique_ptr<Frame> frame;
    std::shared_ptr<const std::string> bytes;
    std::unique_ptr<comm::Transfer> head, rest;
  };
  void send(int peer, int channel, const std::string& bytes);
  std::optional<std::string> poll(Inbox& inbox);

  comm::Wire& wire_;
  const int channel_;
  const TreePosition position_;
  std::vector<Inbox> children_;
  std::optional<Inbox> parent_;
  std::deque<Sent> sent_;
  std::int64_t received_ = 0;
};

}  // namespace tutti::fusion
