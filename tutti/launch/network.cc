#include "tutti/launch/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

namespace tutti::launch {
namespace {

std::string text_of(const in_addr& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address, text.data(), text.size());
  return text.data();
}

sockaddr_in socket_address(const std::string& address, int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address.c_str(), &out.sin_addr);
  return out;
}

const sockaddr* plain(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

void set(const File& socket, int level, int option, int value) {
  ::setsockopt(socket.get(), level, option, &value, sizeof value);
}

}  // namespace

std::string Interface::network() const {
  in_addr bits{};
  ::inet_pton(AF_INET, address.c_str(), &bits);
  const std::uint32_t mask = prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
  bits.s_addr = htonl(ntohl(bits.s_addr) & mask);
  return fmt::format("{}/{}", text_of(bits), prefix);
}

std::vector<Interface> own_interfaces() {
  std::vector<Interface> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    const bool is_usable = entry->ifa_addr && entry->ifa_netmask &&
                           entry->ifa_addr->sa_family == AF_INET && (entry->ifa_flags & IFF_UP) &&
                           !(entry->ifa_flags & IFF_LOOPBACK);
    if (!is_usable) continue;
    const auto* mask = reinterpret_cast<const sockaddr_in*>(entry->ifa_netmask);
    all.push_back({entry->ifa_name,
                   text_of(reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr),
                   std::popcount(mask->sin_addr.s_addr)});
  }
  ::freeifaddrs(list);
  return all;
}

std::optional<std::string> resolve(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0 || !found) return std::nullopt;
  std::string text = text_of(reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr);
  ::freeaddrinfo(found);
  return text;
}

// Connecting a datagram socket sends nothing, but makes the kernel choose.
std::optional<Interface> route_to(const std::string& address) {
  const File socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_in target = socket_address(address, 9);
  sockaddr_in mine{};
  socklen_t size = sizeof mine;
  if (::connect(socket.get(), plain(target), sizeof target) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&mine), &size) != 0) {
    return std::nullopt;
  }
  const std::string own = text_of(mine.sin_addr);
  for (Interface& interface : own_interfaces()) {
    if (interface.address == own && own != address) return interface;
  }
  return std::nullopt;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

bool is_this_host(const std::string& name) {
  const std::string own = host_name();
  if (name == "localhost" || name == own || name == own.substr(0, own.find('.'))) return true;
  const auto address = resolve(name);
  if (!address) return false;
  if (address->starts_with("127.")) return true;
  return std::ranges::any_of(
      own_interfaces(), [&](const Interface& interface) { return interface.address == *address; });
}

File listen_on(int port) {
  File socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  const sockaddr_in address = socket_address("0.0.0.0", port);
  if (::bind(socket.get(), plain(address), sizeof address) != 0 ||
      ::listen(socket.get(), 1024) != 0) {
    socket.close();
  }
  return socket;
}

int port_of(const File& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  const int failed = ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return failed ? 0 : ntohs(address.sin_port);
}

File connect_to(const std::string& address, int port, double seconds, std::string* why) {
  File socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_in target = socket_address(address, port);
  int error = ::connect(socket.get(), plain(target), sizeof target) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd file{socket.get(), POLLOUT, 0};
    const int ready = ::poll(&file, 1, static_cast<int>(seconds * 1000));
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (ready == 0) error = ETIMEDOUT;
  }
  if (error != 0) {
    if (why) *why = std::strerror(error);
    return File();
  }
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
  return socket;
}

void keep_alive(const File& socket) {
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 6000);
}

void send_at_once(const File& socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

bool send_all(int socket, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

}  // namespace tutti::launch
