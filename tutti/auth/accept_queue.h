// Accepted connections whose peers have not proved yet that they know the secret.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/auth/handshake.h"

namespace tutti::auth {

// Authenticates the connections of one listening socket inside the caller's poll loop.
// Unauthenticated peers cannot exhaust file descriptors or memory: at most `max_pending`
// connections are open, each for at most `seconds`. When the queue is full, the oldest connection
// makes room for a new one; silent connections go first. Not thread-safe.
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

  // Appends the pending connections; the caller adds the listening socket itself.
  void add_files(std::vector<pollfd>* files) const;

  // Accepts what waits on `listener`, a non-blocking listening socket, and advances all handshakes.
  // Returns the sockets that were authenticated by now; they are close-on-exec and blocking, and
  // the caller owns them. Never blocks and never throws because of what a peer does.
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
