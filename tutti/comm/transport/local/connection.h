// Blocking stream socket, Unix or TCP, that carries length-prefixed strings and errors.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "tutti/core/result.h"

namespace tutti::comm {

// Returns a non-blocking listening abstract socket of this name, which the caller closes. Returns -1 with errno set if
// the name is taken.
int listen_unix(const std::string& name);

class Connection {
 public:
  // Connects to an abstract socket; the result is not open if no process listens.
  static Connection connect(const std::string& name);
  // Connects over TCP to a rank on another host; `host` is a name or an address.
  static Connection connect_to(const std::string& host, int port);

  Connection() = default;
  // Takes ownership of a connected blocking socket.
  explicit Connection(int socket);
  Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Connection& operator=(Connection&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Connection();

  bool is_open() const { return socket_ >= 0; }
  int file() const { return socket_; }
  // True if the peer is on another host or runs as the same user as this process.
  bool is_same_user() const;
  // Returns false if the peer has exited.
  bool send(const std::string& text);
  // Sends raw bytes without a frame header.
  bool send_bytes(const void* data, std::size_t bytes);
  // Sends a failure, which the peer's `receive` returns.
  void refuse(const Result& reason);
  // Waits for the next string, of at most kMaxBytes. Negative `seconds`: waits for as long as the peer is alive. Fails
  // with
  // - the failure that the peer passed to `refuse`;
  // - DDL-6-20: timeout;
  // - DDL-6-23: the peer has exited;
  // - DDL-6-28: the peer does not follow the protocol.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
  Result receive(std::string* text, double seconds = -1);

 private:
  bool is_unix() const;
  int socket_ = -1;
};

}  // namespace tutti::comm
