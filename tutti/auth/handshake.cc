#include "tutti/auth/handshake.h"

#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tutti/core/clock.h"

namespace tutti::auth {
namespace {

constexpr std::string_view kMagic = "TUTTI-1\n";
constexpr std::size_t kNonceBytes = 16, kMacBytes = 32;

std::string random_nonce() {
  std::string nonce(kNonceBytes, '\0');
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::string text_of(const Secret::Mac& mac) {
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

std::span<const std::uint8_t> mac_in(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Handshake::Handshake(const Secret& secret, Role role, std::string_view purpose)
    : secret_(secret), role_(role), purpose_(purpose) {
  if (role == Role::kConnector) {
    connector_nonce_ = random_nonce();
    send_later(std::string(kMagic) + connector_nonce_, kNonceBytes + kMacBytes);
  } else {
    listener_nonce_ = random_nonce();
    send_later("", kMagic.size() + kNonceBytes);
  }
}

void Handshake::send_later(std::string bytes, std::size_t expected_reply) {
  pending_ += bytes;
  received_.clear();
  expected_ = expected_reply;
}

// The input of the MAC. It starts with the prover's role, so neither end can answer a challenge by reflecting it.
std::string Handshake::transcript(Role prover) const {
  const char* name = prover == Role::kConnector ? "connector " : "listener ";
  return name + connector_nonce_ + listener_nonce_ + purpose_;
}

Handshake::State Handshake::advance(int socket) {
  while (state_ == State::kInProgress) {
    if (!pending_.empty()) {
      if (!send_pending(socket)) break;
    } else if (expected_ == 0) {
      state_ = State::kAuthenticated;
    } else if (!receive_expected(socket)) {
      break;
    }
  }
  return state_;
}

// Returns false if the socket would block or the handshake was rejected.
bool Handshake::send_pending(int socket) {
  const auto sent = ::send(socket, pending_.data(), pending_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (!would_block()) reject();
    return false;
  }
  pending_.erase(0, static_cast<std::size_t>(sent));
  return true;
}

// Returns false if the socket would block or the handshake was rejected.
bool Handshake::receive_expected(int socket) {
  char buffer[kNonceBytes + kMacBytes];
  const std::size_t missing = expected_ - received_.size();
  const auto bytes = ::recv(socket, buffer, std::min(missing, sizeof buffer), MSG_DONTWAIT);
  if (bytes < 0 && would_block()) return false;
  if (bytes <= 0) {
    reject();
    return false;
  }
  has_received_ = true;
  received_.append(buffer, static_cast<std::size_t>(bytes));
  if (received_.size() == expected_) take_message();
  return state_ == State::kInProgress;
}

void Handshake::take_message() {
  if (role_ == Role::kConnector) return take_challenge();
  connector_nonce_.empty() ? take_opening() : take_proof();
}

void Handshake::take_opening() {
  if (!received_.starts_with(kMagic)) return reject();
  connector_nonce_ = received_.substr(kMagic.size());
  send_later(listener_nonce_ + text_of(secret_.sign(transcript(Role::kListener))), kMacBytes);
}

void Handshake::take_challenge() {
  listener_nonce_ = received_.substr(0, kNonceBytes);
  const std::string proof = received_.substr(kNonceBytes);
  if (!secret_.verify(transcript(Role::kListener), mac_in(proof))) return reject();
  send_later(text_of(secret_.sign(transcript(Role::kConnector))), 0);
}

void Handshake::take_proof() {
  if (!secret_.verify(transcript(Role::kConnector), mac_in(received_))) return reject();
  send_later("", 0);
}

short Handshake::poll_events() const {
  return pending_.empty() ? POLLIN : POLLOUT;
}

bool authenticate(int socket, const Secret& secret, Role role, std::string_view purpose,
                  double seconds) {
  Handshake handshake(secret, role, purpose);
  const Stopwatch watch;
  while (handshake.advance(socket) == Handshake::State::kInProgress) {
    const double left = seconds - watch.seconds();
    if (left <= 0) return false;
    pollfd file{socket, handshake.poll_events(), 0};
    ::poll(&file, 1, static_cast<int>(left * 1000) + 1);
  }
  return handshake.state() == Handshake::State::kAuthenticated;
}

}  // namespace tutti::auth
