#include "tutti/os/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>

#include <cerrno>

#include "tutti/core/error.h"

namespace tutti::os {
namespace {

// F_OFD_* locks belong to the open file description, not to the process: children inherit them, and threads with
// separate FileLock objects exclude each other. Returns 0 or errno.
int set_lock(int file, int command, short kind, std::int64_t byte) {
  struct flock wanted = {};
  wanted.l_type = kind;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = byte;
  wanted.l_len = 1;
  for (;;) {
    if (fcntl(file, command, &wanted) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file, Children children)
    : file_(open(file.c_str(), O_RDWR | O_CREAT | (children == Children::kHold ? 0 : O_CLOEXEC),
                 0666)) {
  if (!file_.is_open())
    throw IoError("DDL-7-96",
                  fmt::format("Cannot open the lock {}: {}.", file.string(), strerror(errno)));
}

bool FileLock::try_lock(std::int64_t byte) {
  const int error = set_lock(file_.get(), F_OFD_SETLK, F_WRLCK, byte);
  return error != EAGAIN && error != EACCES;
}

void FileLock::lock(std::int64_t byte) {
  set_lock(file_.get(), F_OFD_SETLKW, F_WRLCK, byte);
}

void FileLock::unlock(std::int64_t byte) {
  set_lock(file_.get(), F_OFD_SETLK, F_UNLCK, byte);
}

}  // namespace tutti::os
