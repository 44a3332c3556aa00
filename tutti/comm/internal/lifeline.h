// Connections between hosts on which nothing is said: when the kernel closes one, the process at
// the other end is gone, even where nobody is left on its host to tell.
//
// The first rank of each host keeps one to the first rank of the next, in a ring. A stopped process
// keeps its connection; a host without power loses it after some seconds. Where the network does
// not let one through there is none, and no harm.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/comm/transport/tcp/door.h"

namespace tutti::comm {

// Serves one thread.
class Lifeline {
 public:
  Lifeline() = default;
  // Says goodbye to both neighbours.
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  // Opens the door; gives what the rank before this one needs for `connect`, "" when there is no
  // network. `job` keeps strangers out.
  std::string open(std::uint64_t job, int rank);
  // To the rank that gave that address. At most some tenths of a second.
  void connect(int rank, const std::string& address);

  // What to wait for.
  void add_files(std::vector<pollfd>& files) const;
  // The ranks whose end was seen since the last call.
  std::vector<int> find_dead();

 private:
  struct Hello {
    std::uint64_t job = 0;
    std::int32_t rank = -1;
    std::int32_t reserved = 0;
  };
  struct Line {
    int file = -1;
    int rank = -1;                                    // -1: a visitor that has not said hello
    bool is_established = false;                      // both said hello
    std::vector<topo::SocketAddress> addresses = {};  // to try when this one leads elsewhere
  };
  void try_next(Line& line);
  void admit();
  bool hear_hello(Line& line);
  bool has_died(Line& line);

  Hello mine_;
  Door door_;
  std::vector<Line> lines_;
};

}  // namespace tutti::comm
