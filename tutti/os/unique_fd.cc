#include "tutti/os/unique_fd.h"

#include <poll.h>

#include <cerrno>

namespace tutti::os {

int write_all(int fd, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto written = ::write(fd, at, bytes);
    if (written < 0 && errno == EAGAIN) {
      pollfd one{fd, POLLOUT, 0};
      ::poll(&one, 1, -1);
    } else if (written < 0 && errno != EINTR) {
      return errno;
    } else if (written > 0) {
      at += written;
      bytes -= static_cast<std::size_t>(written);
    }
  }
  return 0;
}

}  // namespace tutti::os
