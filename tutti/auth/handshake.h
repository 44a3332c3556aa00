// Mutual authentication of the two ends of a connection by a shared secret.
//
// Neither end sends the secret. Each sends a random challenge (nonce) and proves that it can
// compute a keyed hash (MAC) over both challenges:
//
//   connector -> listener   "TUTTI-1\n", connector nonce              8 + 16 bytes
//   listener -> connector   listener nonce, MAC("listener", ...)     16 + 32 bytes
//   connector -> listener   MAC("connector", ...)                         32 bytes
//
// Every message has a fixed size, so a listener parses nothing that a peer without the secret
// controls. The MAC covers a purpose, so a handshake of one protocol cannot be relayed to another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tutti/auth/secret.h"

namespace tutti::auth {

enum class Role { kConnector, kListener };

// One handshake on one socket. Not thread-safe.
class Handshake {
 public:
  enum class State { kInProgress, kAuthenticated, kRejected };

  // `purpose` names the protocol that follows; both ends must pass the same one.
  Handshake(const Secret& secret, Role role, std::string_view purpose);

  // Sends and receives as much as `socket` permits without blocking, and never reads past the
  // handshake. kRejected means that the peer closed the connection or does not know the secret; the
  // caller then closes the socket.
  State advance(int socket);
  State state() const { return state_; }
  // What to wait for by poll while in progress: POLLIN or POLLOUT.
  short poll_events() const;
  // Whether the peer has sent anything so far.
  bool has_received() const { return has_received_; }

 private:
  bool send_pending(int socket);
  bool receive_expected(int socket);
  void take_message();
  void take_opening();
  void take_challenge();
  void take_proof();
  std::string transcript(Role prover) const;
  void send_later(std::string bytes, std::size_t expected_reply);
  void reject() { state_ = State::kRejected; }

  Secret secret_;
  Role role_;
  std::string purpose_;
  State state_ = State::kInProgress;
  bool has_received_ = false;
  std::string connector_nonce_, listener_nonce_;
  std::string pending_;       // still to be sent
  std::string received_;      // the message being received
  std::size_t expected_ = 0;  // its size; 0 if nothing more is expected
};

// Runs a handshake on a connected socket and blocks for at most `seconds`. Works on blocking and
// non-blocking sockets. False if the peer does not know the secret, leaves, or takes too long.
bool authenticate(int socket, const Secret& secret, Role role, std::string_view purpose,
                  double seconds);

}  // namespace tutti::auth
