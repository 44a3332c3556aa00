// A stream socket, Unix or TCP, that carries texts and refusals.
#pragma once

#include <string>
#include <utility>

#include "tutti/core/result.h"

namespace tutti::comm {

class Connection {
 public:
  // An abstract socket of this name that `accept`s; not open when there is one already (errno
  // says).
  static Connection listen(const std::string& name);
  // Not open when nobody listens.
  static Connection connect(const std::string& name);
  // The same over TCP, for ranks of other hosts; `host` by name or address.
  static Connection listen_on(int port);
  static Connection connect_to(const std::string& host, int port);
  // The next who connects; not open when nobody does in time.
  Connection accept(double seconds) const;

  Connection() = default;
  Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Connection& operator=(Connection&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Connection();

  bool is_open() const { return socket_ >= 0; }
  // Whether the peer, if it is on this host, runs as the same user as this process.
  bool is_same_user() const;
  // False when the peer is gone.
  bool send(const std::string& text);
  // What the peer shall fail with: its `receive` returns it.
  void refuse(const Result& reason);
  // Waits for the peer's next text; negative seconds: as long as it lives. Failures: a refusal;
  // DDL-6-20 when the time is over; DDL-6-23 when the peer is gone.
  Result receive(std::string* text, double seconds = -1);

 private:
  explicit Connection(int socket) : socket_(socket) {}
  bool is_unix() const;
  int socket_ = -1;
};

}  // namespace tutti::comm
