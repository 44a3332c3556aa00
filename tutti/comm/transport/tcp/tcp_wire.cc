#include "tutti/comm/transport/tcp/tcp_wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

TcpWire::TcpWire(int rank, const auth::Secret& secret, const std::string& interfaces)
    : rank_(rank),
      secret_(secret),
      listener_(Listener::open(interfaces)),
      unauthenticated_(secret, kPurpose),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (listener_.is_open() && wake_.is_open()) return;
  throw CommError("DDL-6-27",
                  fmt::format("no socket for messages between hosts ({}): raise the limit of open "
                              "files (ulimit -n).",
                              std::strerror(errno)));
}

TcpWire::~TcpWire() = default;

void TcpWire::connect(const std::vector<std::string>& offers) {
  const MutexLock lock(mutex_);
  contacts_ = offers;
}

void TcpWire::connect_to_all() {
  constexpr std::int64_t kStep = 1'000'000'000;
  constexpr int kNoChannel = -1;                    // nothing is ever sent on it
  std::vector<std::unique_ptr<Transfer>> receives;  // pending receives make the wire connect
  for (int peer = 0; peer < static_cast<int>(contacts_.size()); ++peer) {
    receives.push_back(receive(peer, kNoChannel, nullptr, 0));
  }
  while (unconnected_ > 0) wait(events(), kStep);
  for (const auto& [peer, stream] : streams_) {
    if (!stream->is_lost()) continue;
    throw CommError("DDL-6-26", stream->loss());
  }
}

MessageEnds& TcpWire::ends_to(int peer) {
  if (peer < 0 || peer >= static_cast<int>(contacts_.size())) {
    throw ConfigError("DDL-6-01", fmt::format("invalid rank {}: ranks are 0 to {}.", peer,
                                              static_cast<int>(contacts_.size()) - 1));
  }
  if (peer == rank_) return own_;
  auto& stream = streams_[peer];
  if (!stream) {
    stream = std::make_unique<Stream>(peer);
    ++unconnected_;
  }
  return *stream;
}

void TcpWire::progress() {
  bool moved = unconnected_ > 0 && progress_connections();
  for (const auto& [peer, stream] : streams_) {
    if (!stream->is_open()) continue;
    if (stream->wants_to_write()) moved |= stream->write();
    if (stream->is_open() && stream->wants_to_read()) moved |= stream->read();
  }
  if (!moved) return;
  events_.fetch_add(1, std::memory_order_release);
  if (sleepers_ > 0) ::eventfd_write(wake_.get(), 1);
}

bool TcpWire::progress_connections() {
  bool moved = accept_connections();
  for (const auto& [peer, stream] : streams_) {
    const bool is_missing = !stream->is_open() && !stream->is_lost() && stream->is_active();
    if (is_missing && rank_ < peer) moved |= call(*stream);
  }
  const auto ended = std::erase_if(
      pending_connections_, [this](PendingConnection& pending) { return !advance(pending); });
  return moved || ended > 0;
}

// Starts connecting unless an attempt is already in progress.
bool TcpWire::call(Stream& stream) {
  const bool is_called =
      std::any_of(pending_connections_.begin(), pending_connections_.end(),
                  [&](const PendingConnection& pending) { return pending.peer == stream.peer(); });
  if (is_called) return false;
  PendingConnection pending;
  pending.peer = stream.peer();
  pending.first_ns = now_ns();
  try_next_address(pending);
  if (!stream.is_lost()) pending_connections_.push_back(std::move(pending));
  return true;
}

void TcpWire::try_next_address(PendingConnection& pending) {
  const auto addresses = candidate_addresses(contacts_[pending.peer]);
  pending.file.close();
  pending.is_connected = false;
  pending.handshake.reset();
  pending.since_ns = now_ns();
  while (!pending.file.is_open() && pending.next_address < addresses.size()) {
    pending.file = start_connecting(addresses[pending.next_address++]);
  }
  if (pending.file.is_open()) return;
  if (pending.was_dropped && pending.since_ns - pending.first_ns < kRetryTime) {
    pending.next_address = 0;
    pending.since_ns += kRetryPause;
    return;
  }
  streams_[pending.peer]->lose();
  --unconnected_;
}

bool TcpWire::accept_connections() {
  bool moved = false;
  for (const os::UniqueFd& listener : listener_.files) {
    for (const int socket : unauthenticated_.accept_from(listener.get())) {
      PendingConnection pending;
      pending.file = os::UniqueFd(socket);
      ::fcntl(socket, F_SETFL, O_NONBLOCK);
      pending.is_connected = moved = true;
      pending.since_ns = now_ns();
      pending_connections_.push_back(std::move(pending));
    }
  }
  return moved;
}

short TcpWire::PendingConnection::events() const {
  if (!is_connected) return POLLOUT;
  return handshake ? handshake->poll_events() : static_cast<short>(POLLIN);
}

bool TcpWire::advance(PendingConnection& pending) {
  const bool is_mine = pending.peer >= 0;
  if (!pending.file.is_open()) {
    if (now_ns() >= pending.since_ns) try_next_address(pending);
    return !streams_[pending.peer]->is_lost();
  }
  pollfd ready{pending.file.get(), pending.events(), 0};
  if (::poll(&ready, 1, 0) == 0) {
    if (now_ns() - pending.since_ns < kConnectTime) return true;
  } else {
    bool is_over = false;
    if (step(pending, &is_over)) return !is_over;
    pending.was_dropped |= pending.is_connected;
  }
  if (is_mine) try_next_address(pending);
  return is_mine && !streams_[pending.peer]->is_lost();
}

bool TcpWire::step(PendingConnection& pending, bool* is_over) {
  if (!pending.is_connected) {
    pending.is_connected = has_connected(pending.file.get());
    if (pending.is_connected) pending.handshake.emplace(secret_, auth::Role::kConnector, kPurpose);
    return pending.is_connected;
  }
  if (pending.handshake) return authenticate(pending);
  if (!read_hello(pending)) return false;
  establish(pending);
  *is_over = true;
  return true;
}

bool TcpWire::authenticate(PendingConnection& pending) const {
  const auto state = pending.handshake->advance(pending.file.get());
  if (state == auth::Handshake::State::kInProgress) return true;
  if (state == auth::Handshake::State::kRejected) return false;
  pending.handshake.reset();
  const Hello hello{rank_, pending.peer};
  return ::send(pending.file.get(), &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello;
}

// Receives and verifies the Hello of the peer. The accepting side replies with its own.
bool TcpWire::read_hello(PendingConnection& pending) {
  Hello hello;
  const auto bytes = ::recv(pending.file.get(), &hello, sizeof hello, MSG_DONTWAIT);
  if (bytes != sizeof hello || hello.to != rank_) return false;
  if (pending.peer >= 0) return hello.from == pending.peer;
  if (hello.from < 0 || hello.from >= rank_) return false;
  pending.peer = hello.from;
  const Hello answer{rank_, pending.peer};
  return ::send(pending.file.get(), &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
}

void TcpWire::establish(PendingConnection& pending) {
  ends_to(pending.peer);  // creates the stream if there is none
  Stream& stream = *streams_[pending.peer];
  if (stream.is_open() || stream.is_lost()) return;
  stream.open(std::move(pending.file));
  --unconnected_;
}

bool TcpWire::wait(std::uint64_t seen, std::int64_t nanoseconds) {
  std::vector<pollfd> files;
  {
    const MutexLock lock(mutex_);
    progress();
    if (events() != seen) return true;
    files.push_back({wake_.get(), POLLIN, 0});
    for (const auto& [peer, stream] : streams_) {
      if (!stream->is_open() || !stream->is_active()) continue;
      const int wanted =
          (stream->wants_to_read() ? POLLIN : 0) | (stream->wants_to_write() ? POLLOUT : 0);
      files.push_back({stream->file(), static_cast<short>(wanted), 0});
    }
    if (unconnected_ > 0) {
      for (const os::UniqueFd& listener : listener_.files)
        files.push_back({listener.get(), POLLIN, 0});
      unauthenticated_.add_files(&files);
    }
    for (const PendingConnection& pending : pending_connections_)
      files.push_back({pending.file.get(), pending.events(), 0});
    ++sleepers_;
  }
  const timespec limit{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  ::ppoll(files.data(), files.size(), &limit, nullptr);
  const MutexLock lock(mutex_);
  --sleepers_;
  eventfd_t ignored = 0;
  if (files[0].revents && sleepers_ == 0) ::eventfd_read(wake_.get(), &ignored);
  return true;
}

}  // namespace tutti::comm
