#include "tutti/comm/transport/local/connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti::comm {
namespace {

constexpr std::int32_t kText = -1;  // otherwise the ErrorKind of a failure

constexpr std::uint32_t kFrameMagic = 0x31465554;  // "TUF1"

struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::int32_t kind = kText;
  std::uint32_t code_bytes = 0;  // of a failure: the text begins with its code
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;
};

bool write_all(int socket, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int socket, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool wait_readable(int socket, double seconds) {
  pollfd waiting{socket, POLLIN, 0};
  const int milliseconds = seconds < 0 ? -1 : static_cast<int>(seconds * 1000) + 1;
  int ready = -1;
  do {
    ready = poll(&waiting, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// Abstract socket: the name begins with a null byte and exists only as long as the socket.
socklen_t make_address(const std::string& name, sockaddr_un* address) {
  address->sun_family = AF_UNIX;
  const std::size_t bytes = std::min(name.size(), sizeof address->sun_path - 1);
  std::memcpy(address->sun_path + 1, name.data(), bytes);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
}

// A string follows its header in a second write, which Nagle's algorithm would delay until the header is acknowledged.
void set_tcp_nodelay(int socket) {
  const int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

int new_socket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

}  // namespace

Connection::Connection(int socket) : socket_(socket) {
  if (socket_ >= 0 && !is_unix()) set_tcp_nodelay(socket_);
}

Connection::~Connection() {
  if (socket_ >= 0) close(socket_);
}

bool Connection::is_unix() const {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  return getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0 &&
         address.ss_family == AF_UNIX;
}

bool Connection::is_same_user() const {
  if (!is_unix()) return true;
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return getsockopt(socket_, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

bool Connection::send_bytes(const void* data, std::size_t bytes) {
  return write_all(socket_, data, bytes);
}

bool Connection::send(const std::string& text) {
  const FrameHeader header{.bytes = text.size()};
  return write_all(socket_, &header, sizeof header) && write_all(socket_, text.data(), text.size());
}

void Connection::refuse(const Result& reason) {
  const std::string text = reason.code() + reason.message();
  const FrameHeader header{.kind = static_cast<std::int32_t>(reason.kind()),
                           .code_bytes = static_cast<std::uint32_t>(reason.code().size()),
                           .bytes = text.size()};
  if (write_all(socket_, &header, sizeof header)) write_all(socket_, text.data(), text.size());
}

Result Connection::receive(std::string* text, double seconds) {
  if (!wait_readable(socket_, seconds)) {
    return Result::failure(ErrorKind::kTimeout, "DDL-6-20", "no answer within the timeout.");
  }
  FrameHeader header;
  const bool got_header = read_all(socket_, &header, sizeof header);
  if (got_header && (header.magic != kFrameMagic || header.bytes > kMaxBytes ||
                     header.code_bytes > header.bytes)) {
    return Result::failure(ErrorKind::kComm, "DDL-6-28",
                           "another program answers there: give the job another MASTER_PORT or "
                           "TUTTI_PORT.");
  }
  text->resize(got_header ? header.bytes : 0);
  if (!got_header || !read_all(socket_, text->data(), text->size())) {
    return Result::failure(ErrorKind::kComm, "DDL-6-23", "it has ended. Read its message.");
  }
  if (header.kind == kText) return Result::ok();
  return Result::failure(static_cast<ErrorKind>(header.kind), text->substr(0, header.code_bytes),
                         text->substr(header.code_bytes));
}

int listen_unix(const std::string& name) {
  sockaddr_un address{};
  const socklen_t bytes = make_address(name, &address);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -1;
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 &&
      ::listen(listener, SOMAXCONN) == 0) {
    return listener;
  }
  const int error = errno;
  ::close(listener);
  errno = error;
  return -1;
}

Connection Connection::connect_to(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return {};
  Connection connection;
  for (const addrinfo* address = found; address && !connection.is_open();
       address = address->ai_next) {
    Connection candidate(socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(candidate.socket_, address->ai_addr, address->ai_addrlen) == 0)
      connection = std::move(candidate);
  }
  freeaddrinfo(found);
  return connection;
}

Connection Connection::connect(const std::string& name) {
  sockaddr_un address{};
  const socklen_t bytes = make_address(name, &address);
  Connection connection(new_socket());
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(connection.socket_, to, bytes) == 0 ? std::move(connection) : Connection();
}

}  // namespace tutti::comm
