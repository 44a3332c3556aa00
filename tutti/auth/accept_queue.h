// Queue of accepted connections that are not authenticated yet.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/auth/handshake.h"

namespace tutti::auth {

// Authenticates the connections of one listening socket inside the caller's poll loop. Not thread-safe.
//
// Unauthenticated peers cannot exhaust file descriptors or memory: at most `max_pending` connections are open, each for
// at most `seconds`. When the queue is full, a new connection evicts the oldest one that has sent nothing, or else the
// oldest. An evicted peer sees a closed connection and may connect again.
//
// The loop of the caller:
//   1. Collect the listening socket and, with add_files(), the pending connections; poll() them.
//   2. Call accept_from(), and take ownership of the sockets that it returns.
// A deadline expires only during accept_from(), so the poll should have a timeout.
class AcceptQueue {
 public:
  struct Limits {
    std::size_t max_pending = 128;
    double seconds = 10;
  };

  AcceptQueue(const Secret& secret, std::string_view purpose, const Limits& limits);
  AcceptQueue(const Secret& secret, std::string_view purpose)
      : AcceptQueue(secret, purpose, Limits()) {}
  AcceptQueue(const AcceptQueue&) = delete;
  AcceptQueue& operator=(const AcceptQueue&) = delete;
  ~AcceptQueue();  // closes the pending connections

  // Appends the pending connections to `files`. The caller adds the listening socket.
  void add_files(std::vector<pollfd>* files) const;

  // Accepts the waiting connections of `listener`, a non-blocking listening socket, and advances all handshakes.
  // Returns the newly authenticated sockets; they are close-on-exec and blocking, and the caller owns them. No input
  // from a peer makes it block or throw.
  std::vector<int> accept_from(int listener);

  std::size_t pending() const { return pending_.size(); }

 private:
  struct Pending {
    int socket;
    std::int64_t deadline_ns;
    Handshake handshake;
  };
  void make_room();

  Secret secret_;
  std::string purpose_;
  Limits limits_;
  std::vector<Pending> pending_;  // oldest first
};

}  // namespace tutti::auth
