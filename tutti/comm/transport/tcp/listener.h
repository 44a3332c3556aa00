// TCP listening sockets, and address selection for connecting to them.
#pragma once

#include <string>
#include <vector>

#include "tutti/os/unique_fd.h"
#include "tutti/topo/network.h"

namespace tutti::comm {

// Listening sockets and their contact string, "<port> <boot id> <address> ...". `interfaces` is a comma-separated list
// of interface names to listen on; empty: all that are up. The loopback interface is always included. All sockets share
// one port; `port` 0 picks a free one. If no socket can be opened, is_open() is false and errno is set.
struct Listener {
  std::vector<os::UniqueFd> files;  // non-blocking
  std::string text;

  bool is_open() const { return !files.empty(); }
  static Listener open(const std::string& interfaces = "", int port = 0);
};

// Candidate addresses in a contact string, best first: the loopback address if the listener is on this host, then
// addresses in a network of one of this host's interfaces, fastest interface first, IPv4 before IPv6.
std::vector<topo::SocketAddress> candidate_addresses(const std::string& contact);

// Starts a non-blocking connect. The result is closed if the connection was refused immediately; otherwise poll for
// POLLOUT.
os::UniqueFd start_connecting(const topo::SocketAddress& address);
// True if a connection that poll() reports as ready was established.
bool has_connected(int file);

void set_socket_option(int file, int level, int option, int value);

}  // namespace tutti::comm
