// File descriptors: ownership and complete writes.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <utility>

namespace tutti::os {

// Owns a file descriptor and closes it on destruction; -1: none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { close(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(release());
  }

 private:
  int fd_ = -1;
};

// Writes all `bytes` bytes; waits if the descriptor is non-blocking. Returns 0 or errno.
int write_all(int fd, const void* data, std::size_t bytes);

}  // namespace tutti::os
