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

// For one thread. Nothing blocks; what is under way when it is destroyed is given up.
class ControlPlane {
 public:
  // `wire` must outlive it. `channel`: this and the next are its own.
  ControlPlane(comm::Wire& wire, int channel, const TreePosition& place);

  void send_up(const std::string& bytes) { send(place_.parent, channel_, bytes); }
  void send_down(const std::string& bytes);
  // The next message, if one is there. Throw CommError when the transport fails.
  std::optional<std::string> from_child(std::size_t child) { return poll(children_[child]); }
  std::optional<std::string> from_parent() { return parent_ ? poll(*parent_) : std::nullopt; }
  // Makes progress with what was sent; true: all is through.
  bool flush();
  std::int64_t received() const { return received_; }

 private:
  // A frame says how long the message is and holds its beginning; the rest follows, if there is
  // one.
  static constexpr std::size_t kFrameBytes = 512;
  static constexpr std::size_t kFirstBytes = kFrameBytes - sizeof(std::uint64_t);
  using Frame = std::array<std::byte, kFrameBytes>;
  struct Inbox {
    int peer = 0;
    int channel = 0;
    std::unique_ptr<Frame> frame = std::make_unique<Frame>();
    std::string bytes = {};
    // Last, so that what they write to outlives them.
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
  const TreePosition place_;
  std::vector<Inbox> children_;
  std::optional<Inbox> parent_;
  std::deque<Sent> sent_;
  std::int64_t received_ = 0;
};

}  // namespace tutti::fusion
