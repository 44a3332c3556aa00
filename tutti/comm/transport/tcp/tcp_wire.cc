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
      visitors_(secret, kPurpose),
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
  doors_ = offers;
}

void TcpWire::connect_to_all() {
  constexpr std::int64_t kStep = 1'000'000'000;
  constexpr int kNoChannel = -1;                 // nothing is ever sent on it
  std::vector<std::unique_ptr<Transfer>> hopes;  // pending receives make the wire connect
  for (int peer = 0; peer < static_cast<int>(doors_.size()); ++peer) {
    hopes.push_back(receive(peer, kNoChannel, nullptr, 0));
  }
  while (unconnected_ > 0) wait(events(), kStep);
  for (const auto& [peer, stream] : streams_) {
    if (!stream->is_lost()) continue;
    throw CommError("DDL-6-26", stream->loss());
  }
}

MessageEnds& TcpWire::ends_to(int peer) {
  if (peer < 0 || peer >= static_cast<int>(doors_.size())) {
    throw ConfigError("DDL-6-01", fmt::format("there is no rank {}: this wire has ranks 0 to {}.",
                                              peer, static_cast<int>(doors_.size()) - 1));
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
  bool moved = admit();
  for (const auto& [peer, stream] : streams_) {
    const bool is_missing = !stream->is_open() && !stream->is_lost() && stream->is_active();
    if (is_missing && rank_ < peer) moved |= call(*stream);
  }
  const auto ended = std::erase_if(pending_connections_,
                                   [this](PendingConnection& knock) { return !advance(knock); });
  return moved || ended > 0;
}

// Starts connecting unless an attempt is already in progress.
bool TcpWire::call(Stream& stream) {
  const bool is_called =
      std::any_of(pending_connections_.begin(), pending_connections_.end(),
                  [&](const PendingConnection& knock) { return knock.peer == stream.peer(); });
  if (is_called) return false;
  PendingConnection knock;
  knock.peer = stream.peer();
  knock.first_ns = now_ns();
  try_next_way(knock);
  if (!stream.is_lost()) pending_connections_.push_back(std::move(knock));
  return true;
}

void TcpWire::try_next_way(PendingConnection& knock) {
  const auto ways = ways_to(doors_[knock.peer]);
  knock.file.close();
  knock.is_through = false;
  knock.handshake.reset();
  knock.since_ns = now_ns();
  while (!knock.file.is_open() && knock.next_way < ways.size()) {
    knock.file = start_connecting(ways[knock.next_way++]);
  }
  if (knock.file.is_open()) return;
  if (knock.was_dropped && knock.since_ns - knock.first_ns < kRetryTime) {
    knock.next_way = 0;
    knock.since_ns += kRetryPause;
    return;
  }
  streams_[knock.peer]->lose();
  --unconnected_;
}

bool TcpWire::admit() {
  bool moved = false;
  for (const os::UniqueFd& listener : listener_.files) {
    for (const int socket : visitors_.accept_from(listener.get())) {
      PendingConnection knock;
      knock.file = os::UniqueFd(socket);
      ::fcntl(socket, F_SETFL, O_NONBLOCK);
      knock.is_through = moved = true;
      knock.since_ns = now_ns();
      pending_connections_.push_back(std::move(knock));
    }
  }
  return moved;
}

short TcpWire::PendingConnection::events() const {
  if (!is_through) return POLLOUT;
  return handshake ? handshake->poll_events() : static_cast<short>(POLLIN);
}

bool TcpWire::advance(PendingConnection& knock) {
  const bool is_mine = knock.peer >= 0;
  if (!knock.file.is_open()) {
    if (now_ns() >= knock.since_ns) try_next_way(knock);
    return !streams_[knock.peer]->is_lost();
  }
  pollfd ready{knock.file.get(), knock.events(), 0};
  if (::poll(&ready, 1, 0) == 0) {
    if (now_ns() - knock.since_ns < kConnectTime) return true;
  } else {
    bool is_over = false;
    if (step(knock, &is_over)) return !is_over;
    knock.was_dropped |= knock.is_through;
  }
  if (is_mine) try_next_way(knock);
  return is_mine && !streams_[knock.peer]->is_lost();
}

bool TcpWire::step(PendingConnection& knock, bool* is_over) {
  if (!knock.is_through) {
    knock.is_through = has_connected(knock.file.get());
    if (knock.is_through) knock.handshake.emplace(secret_, auth::Role::kConnector, kPurpose);
    return knock.is_through;
  }
  if (knock.handshake) return authenticate(knock);
  if (!hear(knock)) return false;
  establish(knock);
  *is_over = true;
  return true;
}

bool TcpWire::authenticate(PendingConnection& knock) const {
  const auto state = knock.handshake->advance(knock.file.get());
  if (state == auth::Handshake::State::kInProgress) return true;
  if (state == auth::Handshake::State::kRejected) return false;
  knock.handshake.reset();
  const Hello hello{rank_, knock.peer};
  return ::send(knock.file.get(), &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello;
}

// Receives and verifies the Hello of the peer. The accepting side replies with its own.
bool TcpWire::hear(PendingConnection& knock) {
  Hello hello;
  const auto bytes = ::recv(knock.file.get(), &hello, sizeof hello, MSG_DONTWAIT);
  if (bytes != sizeof hello || hello.to != rank_) return false;
  if (knock.peer >= 0) return hello.from == knock.peer;
  if (hello.from < 0 || hello.from >= rank_) return false;
  knock.peer = hello.from;
  const Hello answer{rank_, knock.peer};
  return ::send(knock.file.get(), &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
}

void TcpWire::establish(PendingConnection& knock) {
  ends_to(knock.peer);  // creates the stream if there is none
  Stream& stream = *streams_[knock.peer];
  if (stream.is_open() || stream.is_lost()) return;
  stream.open(std::move(knock.file));
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
      visitors_.add_files(&files);
    }
    for (const PendingConnection& knock : pending_connections_)
      files.push_back({knock.file.get(), knock.events(), 0});
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
