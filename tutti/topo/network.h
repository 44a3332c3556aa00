// Addresses that sockets connect to, of IPv4 and IPv6, and the interfaces of this host.
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

  // Of "192.0.2.1" or "2001:db8::1"; nothing when the text is neither.
  static std::optional<SocketAddress> parse(const std::string& text, int port = 0);
  // Nothing when it belongs to another family, or to none.
  static std::optional<SocketAddress> copy(const sockaddr* address);
  // Of this end of a socket; without a port where it has none.
  static SocketAddress of(int socket);

  int family() const { return storage.ss_family; }
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int port() const;
  // Without the port.
  std::string text() const;
  // The address in network order: 4 or 16.
  std::span<const unsigned char> bytes() const;
};

struct Interface {
  std::string name;  // eth0
  SocketAddress address;
  int prefix = 0;  // bits of the network

  // 192.0.2.0/24
  std::string network() const;
  // Whether the address is in the same network.
  bool reaches(const SocketAddress& other) const;
};

// Those that are up and not the loopback, IPv4 before IPv6. Without addresses of one link only
// (fe80::), which say nothing to others.
std::vector<Interface> own_interfaces();

// A socket that listens on `port` (0: any free one) of all addresses of both families; the caller
// closes it. -1 when it cannot (errno says why). `flags`: SOCK_NONBLOCK or none.
int listen_everywhere(int port, int flags = 0);
// The same on one address only, whose port may be 0.
int listen_on(const SocketAddress& address, int flags = 0);

}  // namespace tutti::topo
