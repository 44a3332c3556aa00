// Idle TCP connections between hosts that detect the death of a remote process.
//
// The first rank of each host connects to the first rank of the next host; the connections form a ring. No data is sent
// on them after the handshake. When a process dies, its kernel closes the connection, so the neighbour learns of the
// death immediately, even if no other rank is left on that host to report it.
//
// A connection is set up in three steps: TCP connect, with the next advertised address as fallback; authentication with
// the secret of the job; an exchange of Hello messages that carry the ranks. Only then is it established and monitored.
// A process that leaves cleanly sends one byte before it closes; end of file without that byte means that the peer has
// died. A stopped process (SIGSTOP) keeps its connection. A host without power loses it when TCP keepalive expires,
// after about 15 s. If a connection cannot be set up, the job runs without it.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/auth/accept_queue.h"
#include "tutti/auth/handshake.h"
#include "tutti/comm/transport/tcp/listener.h"

namespace tutti::comm {

// Not thread-safe: the Monitor serializes all calls.
class KeepaliveRing {
 public:
  KeepaliveRing() = default;
  // Sends a leave notice to both neighbours and closes the connections.
  ~KeepaliveRing();
  KeepaliveRing(const KeepaliveRing&) = delete;
  KeepaliveRing& operator=(const KeepaliveRing&) = delete;

  // Starts listening. Returns the contact string that the previous host passes to `connect`, or "" if no socket can be
  // opened. Only processes that know `secret` are accepted. `interfaces`: see Listener.
  std::string open(const auth::Secret& secret, int rank, const std::string& interfaces = "");
  // Starts connecting to the rank that advertised `address`. Blocks for at most 0.3 s per address.
  void connect(int rank, const std::string& address);

  // Number of established connections.
  std::size_t established() const;
  // Waits until `lines` connections are established, for at most `seconds`. The death of a process whose connection is
  // not yet established would go unnoticed.
  void settle(std::size_t lines, double seconds);

  // Appends the sockets to poll.
  void add_files(std::vector<pollfd>& files) const;
  // Returns the ranks whose death was detected since the last call.
  std::vector<int> find_dead();

 private:
  static constexpr const char* kPurpose = "keepalive";  // authentication context of the handshake
  struct Hello {
    std::int32_t rank = -1;
  };
  struct Line {
    int file = -1;
    int rank = -1;                                    // -1: an accepted connection before its Hello
    bool is_established = false;                      // both ends have sent their Hello
    std::optional<auth::Handshake> handshake = {};    // set while authentication is in progress
    std::vector<topo::SocketAddress> addresses = {};  // remaining addresses to try

    short events() const {
      return handshake ? handshake->poll_events() : static_cast<short>(POLLIN);
    }
  };
  void try_next(Line& line);
  void accept_connections();
  // Returns false if the connection has failed and must be dropped.
  bool advance(Line& line);
  bool authenticate(Line& line) const;
  bool read_hello(Line& line);
  bool has_died(Line& line);

  Hello mine_;
  std::optional<auth::Secret> secret_;
  Listener listener_;
  std::optional<auth::AcceptQueue> unauthenticated_;  // accepted, not yet authenticated
  std::vector<Line> lines_;
  std::vector<int> dead_;  // deaths detected by `settle`
};

}  // namespace tutti::comm
