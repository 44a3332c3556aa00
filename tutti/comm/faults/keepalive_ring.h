// Connections between hosts on which nothing is said: when the kernel closes one, the process at
// the other end is gone, even where nobody is left on its host to tell.
//
// The first rank of each host keeps one to the first rank of the next, in a ring. A stopped process
// keeps its connection; a host without power loses it after some seconds. Where the network does
// not let one through there is none, and no harm.
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

// Serves one thread.
class KeepaliveRing {
 public:
  KeepaliveRing() = default;
  // Says goodbye to both neighbours.
  ~KeepaliveRing();
  KeepaliveRing(const KeepaliveRing&) = delete;
  KeepaliveRing& operator=(const KeepaliveRing&) = delete;

  // Listens; returns what the rank before this one needs for `connect`, "" when there is no
  // network. Only processes that know `secret` are let in. `interfaces`: see Listener.
  std::string open(const auth::Secret& secret, int rank, const std::string& interfaces = "");
  // To the rank that gave that address. At most some tenths of a second.
  void connect(int rank, const std::string& address);

  // Number of lines on which both ends are known.
  std::size_t established() const;
  // Waits until there are so many, for at most `seconds`: a process that dies before its line is
  // established would not be noticed.
  void settle(std::size_t lines, double seconds);

  // What to wait for.
  void add_files(std::vector<pollfd>& files) const;
  // The ranks whose end was seen since the last call.
  std::vector<int> find_dead();

 private:
  static constexpr const char* kPurpose = "lifeline";  // of the handshake
  struct Hello {
    std::int32_t rank = -1;
  };
  struct Line {
    int file = -1;
    int rank = -1;                                    // -1: a visitor that has not said hello
    bool is_established = false;                      // both said hello
    std::optional<auth::Handshake> handshake = {};    // while it runs
    std::vector<topo::SocketAddress> addresses = {};  // to try when this one leads elsewhere

    short events() const {
      return handshake ? handshake->poll_events() : static_cast<short>(POLLIN);
    }
  };
  void try_next(Line& line);
  void admit();
  // False when the line leads nowhere.
  bool advance(Line& line);
  bool authenticate(Line& line) const;
  bool hear_hello(Line& line);
  bool has_died(Line& line);

  Hello mine_;
  std::optional<auth::Secret> secret_;
  Listener listener_;
  std::optional<auth::AcceptQueue> visitors_;  // that have not proved that they know the secret
  std::vector<Line> lines_;
  std::vector<int> dead_;  // seen by `settle`
};

}  // namespace tutti::comm
