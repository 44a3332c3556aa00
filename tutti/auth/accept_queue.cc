#include "tutti/auth/accept_queue.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "tutti/core/clock.h"

namespace tutti::auth {

AcceptQueue::AcceptQueue(const Secret& secret, std::string_view purpose, const Limits& limits)
    : secret_(secret), purpose_(purpose), limits_(limits) {}

AcceptQueue::~AcceptQueue() {
  for (const Pending& one : pending_) ::close(one.socket);
}

void AcceptQueue::add_files(std::vector<pollfd>* files) const {
  for (const Pending& one : pending_) {
    files->push_back({one.socket, one.handshake.poll_events(), 0});
  }
}

std::vector<int> AcceptQueue::accept_from(int listener) {
  const auto now = now_ns();
  const auto deadline = now + static_cast<std::int64_t>(limits_.seconds * 1e9);
  // Bounds the work of one call, so a flood of connections does not starve the caller's loop.
  for (std::size_t i = 0; i < limits_.max_pending; ++i) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) break;
    if (pending_.size() >= limits_.max_pending) make_room();
    pending_.push_back({socket, deadline, Handshake(secret_, Role::kListener, purpose_)});
  }
  std::vector<int> authenticated;
  std::erase_if(pending_, [&](Pending& one) {
    const auto state = one.handshake.advance(one.socket);
    if (state == Handshake::State::kInProgress && now < one.deadline_ns) return false;
    if (state == Handshake::State::kAuthenticated) {
      authenticated.push_back(one.socket);
    } else {
      ::close(one.socket);
    }
    return true;
  });
  return authenticated;
}

void AcceptQueue::make_room() {
  auto victim = std::ranges::find_if(
      pending_, [](const Pending& one) { return !one.handshake.has_received(); });
  if (victim == pending_.end()) victim = pending_.begin();
  ::close(victim->socket);
  pending_.erase(victim);
}

}  // namespace tutti::auth
