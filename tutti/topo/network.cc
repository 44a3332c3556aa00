#include "tutti/topo/network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>

namespace tutti::topo {
namespace {

SocketAddress make(int family, const void* address, int port) {
  SocketAddress out;
  const auto fill = [&](auto& socket, auto& where, auto& where_port) {
    std::memcpy(&where, address, sizeof where);
    where_port = htons(static_cast<std::uint16_t>(port));
    out.size = sizeof socket;
  };
  if (family == AF_INET) {
    auto& socket = reinterpret_cast<sockaddr_in&>(out.storage);
    fill(socket, socket.sin_addr, socket.sin_port);
  } else {
    auto& socket = reinterpret_cast<sockaddr_in6&>(out.storage);
    fill(socket, socket.sin6_addr, socket.sin6_port);
  }
  out.storage.ss_family = static_cast<sa_family_t>(family);
  return out;
}

bool is_of_one_link(const SocketAddress& address) {
  const auto bytes = address.bytes();
  return address.family() == AF_INET6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

// The bits of byte number `byte` that belong to a network of `prefix` bits.
unsigned char mask_of(int prefix, std::size_t byte) {
  const int bits = std::clamp(prefix - static_cast<int>(8 * byte), 0, 8);
  return static_cast<unsigned char>(0xff00U >> bits);
}

// Returns `socket`, or closes it and returns -1 with errno set.
int bind_and_listen(int socket, const SocketAddress& address) {
  if (socket < 0) return -1;
  const int one = 1;
  // Connections of a job that has just ended must not block the port for the next job.
  if (address.port() != 0) ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(socket, address.data(), address.size) == 0 && ::listen(socket, SOMAXCONN) == 0) {
    return socket;
  }
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

}  // namespace

std::optional<SocketAddress> SocketAddress::parse(const std::string& text, int port) {
  const int family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
  in6_addr address{};
  if (::inet_pton(family, text.c_str(), &address) != 1) return std::nullopt;
  return make(family, &address, port);
}

std::optional<SocketAddress> SocketAddress::copy(const sockaddr* address) {
  if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
    return std::nullopt;
  SocketAddress out;
  out.size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&out.storage, address, out.size);
  return out;
}

SocketAddress SocketAddress::of(int socket) {
  SocketAddress out;
  out.size = sizeof out.storage;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&out.storage), &out.size);
  return out;
}

int SocketAddress::port() const {
  return ntohs(family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                                    : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

std::span<const unsigned char> SocketAddress::bytes() const {
  const auto view = [](const auto& address) {
    return std::span(reinterpret_cast<const unsigned char*>(&address), sizeof address);
  };
  return family() == AF_INET6 ? view(reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr)
                              : view(reinterpret_cast<const sockaddr_in&>(storage).sin_addr);
}

std::string SocketAddress::text() const {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(family(), bytes().data(), text, sizeof text);
  return text;
}

std::string Interface::network() const {
  unsigned char bits[sizeof(in6_addr)] = {};
  const auto own = address.bytes();
  for (std::size_t i = 0; i < own.size(); ++i) bits[i] = own[i] & mask_of(prefix, i);
  return fmt::format("{}/{}", make(address.family(), bits, 0).text(), prefix);
}

bool Interface::reaches(const SocketAddress& other) const {
  if (other.family() != address.family()) return false;
  const auto own = address.bytes(), theirs = other.bytes();
  for (std::size_t i = 0; i < own.size(); ++i) {
    if ((own[i] ^ theirs[i]) & mask_of(prefix, i)) return false;
  }
  return true;
}

std::vector<Interface> own_interfaces() {
  std::vector<Interface> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* entry = all; entry; entry = entry->ifa_next) {
    const auto address = SocketAddress::copy(entry->ifa_addr);
    const auto mask = SocketAddress::copy(entry->ifa_netmask);
    const bool is_usable = address && mask && (entry->ifa_flags & IFF_UP) &&
                           !(entry->ifa_flags & IFF_LOOPBACK) && !is_of_one_link(*address);
    if (!is_usable) continue;
    const auto bytes = mask->bytes();
    const int prefix =
        std::accumulate(bytes.begin(), bytes.end(), 0,
                        [](int sum, unsigned char byte) { return sum + std::popcount(byte); });
    out.push_back({entry->ifa_name, *address, prefix});
  }
  ::freeifaddrs(all);
  std::ranges::stable_partition(
      out, [](const Interface& one) { return one.address.family() == AF_INET; });
  return out;
}

int listen_everywhere(int port, int flags) {
  int family = AF_INET6;  // also accepts IPv4
  int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (socket < 0) {  // kernel without IPv6
    family = AF_INET;
    socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  }
  const int zero = 0;
  if (family == AF_INET6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  return bind_and_listen(socket, make(family, &in6addr_any, port));
}

int listen_on(const SocketAddress& address, int flags) {
  const int socket = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  const int one = 1;
  if (address.family() == AF_INET6) {
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
  }
  return bind_and_listen(socket, address);
}

}  // namespace tutti::topo
