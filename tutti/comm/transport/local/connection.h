// A stream socket, Unix or TCP, that carries texts and refusals.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "tutti/core/result.h"

namespace tutti::comm {

// A listening abstract socket of this name, not blocking; the caller closes it. -1 if the name is
// taken (errno has the reason).
int listen_unix(const std::string& name);

class Connection {
 public:
  // To an abstract socket; not open when no process listens.
  static Connection connect(const std::string& name);
  // Over TCP, for ranks of other hosts; `host` by name or address.
  static Connection connect_to(const std::string& host, int port);

  Connection() = default;
  // Takes over a connected socket that blocks.
  explicit Connection(int socket);
  Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Connection& operator=(Connection&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Connection();

  bool is_open() const { return socket_ >= 0; }
  int file() const { return socket_; }
  // Whether the peer, if it is on this host, runs as the same user as this process.
  bool is_same_user() const;
  // False when the peer has exited.
  bool send(const std::string& text);
  // Without a frame.
  bool send_bytes(const void* data, std::size_t bytes);
  // What the peer shall fail with: its `receive` returns it.
  void refuse(const Result& reason);
  // Waits for the peer's next text, of at most kMaxBytes; negative seconds: as long as the peer
  // lives. Failures: a refusal; DDL-6-20 when the time is over; DDL-6-23 when the peer has exited;
  // DDL-6-28 when it sends something else.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
  Result receive(std::string* text, double seconds = -1);

 private:
  bool is_unix() const;
  int socket_ = -1;
};

}  // namespace tutti::comm
