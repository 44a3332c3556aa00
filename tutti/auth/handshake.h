// Mutual authentication of the two ends of a connection by a shared secret.
//
// Neither end sends the secret. Each end sends a random challenge (nonce) and proves that it can compute a keyed hash
// (MAC) over both nonces:
//
//   connector -> listener   "TUTTI-1\n", connector nonce              8 + 16 bytes
//   listener -> connector   listener nonce, MAC("listener", ...)     16 + 32 bytes
//   connector -> listener   MAC("connector", ...)                         32 bytes
//
// MAC(role, ...) is HMAC-SHA-256 of the role of the prover, both nonces and the purpose:
//
// - The role prevents reflection: the proof of one end is not valid for the other.
// - The nonces prevent replay of an earlier handshake.
// - The purpose prevents relaying a handshake of one protocol to a port of another.
//
// Every message has a fixed size, so a listener parses no length or structure from a peer without the secret. The
// listener proves first; a connector sends its proof only to a listener that knows the secret. The handshake
// authenticates the peers when the connection is established. It does not encrypt or sign the data that follows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tutti/auth/secret.h"

namespace tutti::auth {

enum class Role { kConnector, kListener };

// State machine for one handshake on one socket, without blocking. Not thread-safe.
//
// Each end alternates between sending `pending_` and receiving a message of `expected_` bytes. A complete message is
// checked by the take_ function for its position in the protocol, which queues the reply and the size of the next
// message, or rejects. The handshake is complete when there is nothing left to send and nothing more is expected.
class Handshake {
 public:
  enum class State { kInProgress, kAuthenticated, kRejected };

  // `purpose` names the protocol that follows; both ends must pass the same one.
  Handshake(const Secret& secret, Role role, std::string_view purpose);

  // Sends and receives as much as `socket` permits without blocking. Never reads past the handshake, so data that
  // follows it stays in the socket. kRejected: the peer closed the connection or does not know the secret; the caller
  // closes the socket.
  State advance(int socket);
  State state() const { return state_; }
  // The event to poll for while the handshake is in progress: POLLIN or POLLOUT.
  short poll_events() const;
  // True if the peer has sent at least one byte.
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
  std::size_t expected_ = 0;  // its size; 0: no further message
};

// Runs a handshake on a connected socket, blocking or non-blocking. Blocks for at most `seconds`. Returns false if the
// peer does not know the secret, closes the connection, or does not answer in time.
bool authenticate(int socket, const Secret& secret, Role role, std::string_view purpose,
                  double seconds);

}  // namespace tutti::auth
