// Socket addresses of IPv4 and IPv6, and the network interfaces of this host.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::topo {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  // Parses "192.0.2.1" or "2001:db8::1"; nullopt for anything else.
  static std::optional<SocketAddress> parse(const std::string& text, int port = 0);
  // Returns nullopt for other address families.
  static std::optional<SocketAddress> copy(const sockaddr* address);
  // Local address of a socket; port 0 if it has none.
  static SocketAddress of(int socket);

  int family() const { return storage.ss_family; }
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int port() const;
  // The address without the port.
  std::string text() const;
  // The address in network byte order: 4 or 16 bytes.
  std::span<const unsigned char> bytes() const;
};

struct Interface {
  std::string name;  // eth0
  SocketAddress address;
  int prefix = 0;  // length of the network prefix in bits

  // For example 192.0.2.0/24.
  std::string network() const;
  // True if the address is in the same network.
  bool reaches(const SocketAddress& other) const;
};

// Interfaces that are up, without the loopback; IPv4 before IPv6. Link-local addresses (fe80::) are omitted, because
// other hosts cannot use them.
std::vector<Interface> own_interfaces();

// Returns a socket that listens on `port` (0: any free port) of all addresses of both families; the caller closes it.
// Returns -1 with errno set on failure. `flags`: SOCK_NONBLOCK or 0.
int listen_everywhere(int port, int flags = 0);
// The same for one address, whose port may be 0.
int listen_on(const SocketAddress& address, int flags = 0);

}  // namespace tutti::topo
