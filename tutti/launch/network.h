// Addresses, routes and ports of this host. IPv4, as MPI and torch use it.
#pragma once

#include <netinet/in.h>

#include <optional>
#include <string>
#include <vector>

#include "tutti/launch/process.h"

namespace tutti::launch {

struct Interface {
  std::string name;     // eth0
  std::string address;  // 192.0.2.1
  int prefix = 32;      // bits of the network

  // 192.0.2.0/24
  std::string network() const;
};

// Those that are up and not the loopback.
std::vector<Interface> own_interfaces();

// The IPv4 address of a name; nothing when it has none.
std::optional<std::string> resolve(const std::string& name);

// The interface by which the kernel reaches `address`; nothing when there is no route, or when it
// is an address of this host.
std::optional<Interface> route_to(const std::string& address);

// Whether `name` means this machine: localhost, its own name, or one of its addresses.
bool is_this_host(const std::string& name);
std::string host_name();

// A socket that listens on `port`, 0: any; not open when it cannot.
File listen_on(int port);
int port_of(const File& socket);
// Connects within `seconds`; not open when it cannot, `why` says so.
File connect_to(const std::string& address, int port, double seconds, std::string* why);

// So that the kernel notices within some 6 s when the other end has lost its power.
void keep_alive(const File& socket);
// Small messages leave at once.
void send_at_once(const File& socket);

// Sends all or fails.
bool send_all(int socket, const void* data, std::size_t bytes);

}  // namespace tutti::launch
