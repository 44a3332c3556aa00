#include "tutti/launch/net/network.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tutti/os/environment.h"
#include "tutti/os/text_file.h"

namespace tutti::launch {
namespace {

using topo::Interface;
using topo::own_interfaces;
using topo::SocketAddress;

// An invalid address becomes one that cannot be reached.
SocketAddress socket_address(const std::string& address, int port) {
  return SocketAddress::parse(address, port).value_or(SocketAddress{});
}

void set(const os::UniqueFd& socket, int level, int option, int value) {
  ::setsockopt(socket.get(), level, option, &value, sizeof value);
}

}  // namespace

std::optional<std::string> resolve(const std::string& name) {
  for (const int family : {AF_INET, AF_INET6}) {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0 || !found) continue;
    const auto address = SocketAddress::copy(found->ai_addr);
    ::freeaddrinfo(found);
    if (address) return address->text();
  }
  return std::nullopt;
}

// Connecting a datagram socket sends nothing, but makes the kernel select a route.
std::optional<Interface> route_to(const std::string& address) {
  const SocketAddress target = socket_address(address, 9);
  const os::UniqueFd socket(::socket(target.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), target.data(), target.size) != 0) return std::nullopt;
  const std::string own = SocketAddress::of(socket.get()).text();
  for (const Interface& interface : own_interfaces()) {
    if (interface.address.text() == own && own != address) return interface;
  }
  return std::nullopt;
}

bool is_this_host(const std::string& name) {
  const std::string own = os::host_name();
  if (name == "localhost" || name == own || name == own.substr(0, own.find('.'))) return true;
  const auto address = resolve(name);
  if (!address) return false;
  if (address->starts_with("127.") || *address == "::1") return true;
  return std::ranges::any_of(own_interfaces(), [&](const Interface& interface) {
    return interface.address.text() == *address;
  });
}

std::string boot_id() {
  return os::read_text("/proc/sys/kernel/random/boot_id");
}

os::UniqueFd listen_at(const std::string& address, int receive_buffer) {
  const SocketAddress here = socket_address(address, 0);
  os::UniqueFd socket(::socket(here.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Accepted connections inherit the size; it must be set before they advertise their window.
  if (receive_buffer > 0) {
    set(socket, SOL_SOCKET, SO_RCVBUF, receive_buffer);
    set(socket, SOL_SOCKET, SO_RCVBUFFORCE, receive_buffer);  // root may exceed the limit
  }
  const bool listens =
      ::bind(socket.get(), here.data(), here.size) == 0 && ::listen(socket.get(), SOMAXCONN) == 0;
  if (!listens) {
    const int error = errno;
    socket.close();
    errno = error;
  }
  return socket;
}

int receive_buffer_of(const os::UniqueFd& socket) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, &size);
  return bytes;
}

// The socket is bound but never listens, so nothing can connect to it.
int find_free_port(int port) {
  const os::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (port > 0) set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool is_free =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
  return is_free ? port_of(socket) : 0;
}

int port_of(const os::UniqueFd& socket) {
  return SocketAddress::of(socket.get()).port();
}

os::UniqueFd connect_to(const std::string& address, int port, double seconds, std::string* why) {
  const SocketAddress target = socket_address(address, port);
  os::UniqueFd socket(::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int error = ::connect(socket.get(), target.data(), target.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd file{socket.get(), POLLOUT, 0};
    const int ready = ::poll(&file, 1, static_cast<int>(seconds * 1000));
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (ready == 0) error = ETIMEDOUT;
  }
  if (error != 0) {
    if (why) *why = std::strerror(error);
    return os::UniqueFd();
  }
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
  return socket;
}

void enable_keepalive(const os::UniqueFd& socket) {
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 6000);
}

void set_tcp_nodelay(const os::UniqueFd& socket) {
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
