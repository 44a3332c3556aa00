#include "tutti/fusion/internal/control_plane.h"

#include <algorithm>
#include <cstring>

namespace tutti::fusion {

ControlPlane::ControlPlane(comm::Wire& wire, int channel, const TreePosition& position)
    : wire_(wire), channel_(channel), position_(position) {
  for (const int child : position.children)
    children_.push_back({.peer = child, .channel = channel});
  if (position.parent >= 0) parent_ = Inbox{.peer = position.parent, .channel = channel + 1};
}

void ControlPlane::send_down(const std::string& bytes) {
  for (const int child : position_.children) send(child, channel_ + 1, bytes);
}

void ControlPlane::send(int peer, int channel, const std::string& bytes) {
  Sent sent{.frame = std::make_unique<Frame>(),
            .bytes = std::make_shared<const std::string>(bytes),
            .head = nullptr,
            .rest = nullptr};
  const std::uint64_t length = bytes.size();
  const std::size_t first = std::min(bytes.size(), kFirstBytes);
  sent.frame->fill(std::byte{0});
  std::memcpy(sent.frame->data(), &length, sizeof length);
  std::memcpy(sent.frame->data() + sizeof length, bytes.data(), first);
  sent.head = wire_.send(peer, channel, sent.frame->data(), kFrameBytes);
  if (first < bytes.size())
    sent.rest = wire_.send(peer, channel, sent.bytes->data() + first, bytes.size() - first);
  sent_.push_back(std::move(sent));
}

bool ControlPlane::flush() {
  std::erase_if(sent_, [](Sent& sent) {
    bool head_is_complete = false, rest_is_complete = !sent.rest;
    sent.head->test(&head_is_complete).throw_if_error();
    if (sent.rest) sent.rest->test(&rest_is_complete).throw_if_error();
    return head_is_complete && rest_is_complete;
  });
  return sent_.empty();
}

std::optional<std::string> ControlPlane::poll(Inbox& inbox) {
  if (!inbox.head) {
    inbox.head = wire_.receive(inbox.peer, inbox.channel, inbox.frame->data(), kFrameBytes);
  }
  bool is_complete = false;
  if (!inbox.rest) {
    inbox.head->test(&is_complete).throw_if_error();
    if (!is_complete) return std::nullopt;
    std::uint64_t length = 0;
    std::memcpy(&length, inbox.frame->data(), sizeof length);
    inbox.bytes.resize(length);
    const std::size_t first = std::min<std::size_t>(length, kFirstBytes);
    std::memcpy(inbox.bytes.data(), inbox.frame->data() + sizeof length, first);
    if (first < length) {
      inbox.rest =
          wire_.receive(inbox.peer, inbox.channel, inbox.bytes.data() + first, length - first);
    }
  }
  if (inbox.rest) {
    is_complete = false;
    inbox.rest->test(&is_complete).throw_if_error();
    if (!is_complete) return std::nullopt;
  }
  inbox.rest = nullptr;
  inbox.head = nullptr;
  ++received_;
  return std::move(inbox.bytes);
}

}  // namespace tutti::fusion
