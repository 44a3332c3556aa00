#include "tutti/comm/transport/tcp/stream.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tutti/core/clock.h"

namespace tutti::comm {
namespace {

constexpr int kMostEntries = 8;  // queue entries per system call

iovec piece(const void* data, std::size_t bytes) {
  return {const_cast<void*>(data), bytes};
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

// Closing a socket with unread data resets the connection and discards data still in flight to the peer.
Stream::~Stream() {
  while (is_open() && ::recv(file(), ahead_.data(), ahead_.size(), MSG_DONTWAIT) > 0) {
  }
}

void Stream::open(os::UniqueFd file) {
  file_ = std::move(file);
  ahead_.resize(kReadAheadBytes);
  set_socket_option(file_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
}

void Stream::lose() {
  file_.close();
  if (lost_ns_ == 0) lost_ns_ = now_ns();
}

std::string Stream::loss() const {
  return fmt::format(
      "the connection to rank {} failed or was lost. Check that the hosts can reach each "
      "other (firewall, option interface); -wire transport leaves messages to MPI.",
      peer_);
}

Result Stream::trouble() const {
  if (lost_ns_ == 0 || now_ns() - lost_ns_ < kGraceTime) return Result::ok();
  return Result::failure(ErrorKind::kComm, "DDL-6-26", loss());
}

void Stream::post_send(Message* message) {
  Entry& entry = queue_.emplace_back();
  entry.message = message;
  begin_fragment(entry);
}

void Stream::begin_fragment(Entry& entry) {
  const std::size_t moved = entry.message->moved;
  const std::size_t bytes = std::min(kFragmentBytes, entry.message->bytes - moved);
  entry.header = {entry.message->channel, static_cast<std::uint32_t>(bytes), entry.message->bytes};
  entry.header_left = sizeof entry.header;
  entry.fragment_left = bytes;
  entry.is_last = moved + bytes == entry.message->bytes;
}

// A fragment that was started must be sent to the length in its header.
void Stream::cancel_send(Message* message) {
  const auto entry = std::find_if(queue_.begin(), queue_.end(),
                                  [&](const Entry& e) { return e.message == message; });
  if (entry == queue_.end()) return;
  if (!message->is_started) {
    queue_.erase(entry);
    return;
  }
  const std::byte* const from = message->data + message->moved;
  entry->rest.assign(from, from + entry->fragment_left);
  entry->message = nullptr;
}

bool Stream::write() {
  bool moved = false;
  while (!queue_.empty()) {
    std::array<iovec, 2 * kMostEntries> pieces;
    std::size_t count = 0, wanted = 0;
    for (auto entry = queue_.begin(); entry != queue_.end() && count < pieces.size(); ++entry) {
      const auto* const header = reinterpret_cast<const std::byte*>(&entry->header + 1);
      pieces[count++] = piece(header - entry->header_left, entry->header_left);
      const Message* const message = entry->message;
      const std::byte* const body =
          message ? message->data + message->moved
                  : entry->rest.data() + entry->rest.size() - entry->fragment_left;
      pieces[count++] = piece(body, entry->fragment_left);
      wanted += entry->header_left + entry->fragment_left;
      if (!entry->is_last) break;
    }
    msghdr call{};
    call.msg_iov = pieces.data();
    call.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(file_.get(), &call, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !would_block()) lose();
    if (sent <= 0) return moved;
    moved = true;
    note_sent(static_cast<std::size_t>(sent));
    if (static_cast<std::size_t>(sent) < wanted) return moved;
  }
  return moved;
}

void Stream::note_sent(std::size_t bytes) {
  while (!queue_.empty() && note_sent(queue_.front(), &bytes)) queue_.pop_front();
}

// Returns true once the entry has been sent completely.
bool Stream::note_sent(Entry& entry, std::size_t* bytes) {
  if (*bytes > 0 && entry.message) entry.message->is_started = true;
  const std::size_t header = std::min(*bytes, entry.header_left);
  entry.header_left -= header;
  *bytes -= header;
  const std::size_t body = std::min(*bytes, entry.fragment_left);
  entry.fragment_left -= body;
  *bytes -= body;
  if (entry.message) entry.message->moved += body;
  if (entry.header_left > 0 || entry.fragment_left > 0) return false;
  if (!entry.is_last && entry.message) {
    begin_fragment(entry);
    return false;
  }
  if (!entry.is_last) {
    entry.header.bytes = kCancelled;
    entry.header_left = sizeof entry.header;
    entry.is_last = true;
    return false;
  }
  if (entry.message) entry.message->state = Message::State::kDone;
  return true;
}

void Stream::post_receive(Message* message) {
  inbox_.post(message);
  sort();
}

bool Stream::sort() {
  while (!inbox_.is_idle()) {
    if (inbox_.is_open() && incoming_left_ > 0) {
      const std::size_t bytes = std::min(incoming_left_, end_ - begin_);
      if (bytes == 0) return false;
      std::memcpy(inbox_.write_position(), ahead_.data() + begin_, bytes);
      begin_ += bytes;
      incoming_left_ -= bytes;
      inbox_.arrived(bytes);
      continue;
    }
    FragmentHeader header;
    if (end_ - begin_ < sizeof header) return false;
    std::memcpy(&header, ahead_.data() + begin_, sizeof header);
    begin_ += sizeof header;
    if (header.bytes == kCancelled) {
      inbox_.discard();
      continue;
    }
    if (!inbox_.is_open()) inbox_.begin(header.channel, header.message_bytes);
    incoming_left_ = header.bytes;
    if (incoming_left_ == 0) inbox_.arrived(0);
  }
  return true;
}

bool Stream::read() {
  bool moved = false;
  while (!sort()) {
    std::memmove(ahead_.data(), ahead_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    // sort() has consumed everything before an incomplete body, so the body can be read directly to its destination.
    const std::size_t body = inbox_.is_open() ? incoming_left_ : 0;
    iovec pieces[2] = {piece(body > 0 ? inbox_.write_position() : nullptr, body),
                       piece(ahead_.data() + end_, ahead_.size() - end_)};
    const ssize_t got = ::readv(file_.get(), pieces, 2);
    if (got == 0 || (got < 0 && !would_block())) lose();
    if (got <= 0) return moved;
    moved = true;
    const std::size_t direct = std::min(static_cast<std::size_t>(got), body);
    if (direct > 0) {
      incoming_left_ -= direct;
      inbox_.arrived(direct);
    }
    end_ += static_cast<std::size_t>(got) - direct;
    if (static_cast<std::size_t>(got) < body + pieces[1].iov_len) {
      sort();
      return moved;
    }
  }
  return moved;
}

}  // namespace tutti::comm
