// Where a rank can be reached over TCP, and in which order others should try.
#pragma once

#include <string>
#include <vector>

#include "tutti/os/unique_fd.h"
#include "tutti/topo/network.h"

namespace tutti::comm {

// Listening sockets, and the text by which others find them: "<port> <boot id> <address> ...".
// `interfaces`: names, separated by commas, of the interfaces to listen on; empty: all that are up.
// The loopback interface is always one of them, and other addresses are not served. All sockets
// have the same port; `port` 0: a free one. Not open when no port is available (errno says why).
struct Listener {
  std::vector<os::UniqueFd> files;  // not blocking
  std::string text;

  bool is_open() const { return !files.empty(); }
  static Listener open(const std::string& interfaces = "", int port = 0);
};

// The addresses in a door's text, the best way first: the loopback when it is this very machine,
// then those in a network that one of my own interfaces is in, the fastest interface first, IPv4
// before IPv6.
std::vector<topo::SocketAddress> ways_to(const std::string& door);

// A connection under way or refused at once; `poll` tells when it is there.
os::UniqueFd start_connecting(const topo::SocketAddress& address);
// Whether one that `poll` says is ready has succeeded.
bool has_connected(int file);

void set_socket_option(int file, int level, int option, int value);

}  // namespace tutti::comm
