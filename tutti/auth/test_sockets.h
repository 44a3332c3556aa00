// Test helpers: connected and listening sockets.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

namespace tutti::auth::testing {

struct SocketPair {
  SocketPair() { ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends); }
  ~SocketPair() {
    close(0);
    close(1);
  }
  void close(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  int ends[2] = {-1, -1};
};

// A listener on a free port of the loopback interface.
struct LoopbackListener {
  LoopbackListener() {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(file, SOMAXCONN);
    socklen_t size = sizeof address;
    ::getsockname(file, reinterpret_cast<sockaddr*>(&address), &size);
  }
  ~LoopbackListener() { ::close(file); }
  // A blocking socket that is connected to this listener; the caller closes it.
  int connect() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return socket;
  }
  int file = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
};

inline bool send_text(int socket, std::string_view text) {
  return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

}  // namespace tutti::auth::testing
