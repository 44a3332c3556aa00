// Locks between processes, by files.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tutti/os/unique_fd.h"

namespace tutti::os {

// A file whose bytes can be locked one by one. Processes of this host honour the locks, and those
// of other hosts where the file system has locks (NFS, Lustre mounted with `flock`). Where it has
// none, every lock is granted: callers must stay correct without them. Locks end with the object,
// and with the process. Not safe from several threads; each may have an object of its own.
class FileLock {
 public:
  enum class Children { kDoNotHold, kHold };
  // Makes the file when it is missing. With kHold, programs that this process starts hold the locks
  // too, until the last of them has ended. Throws IoError when the file cannot be opened.
  explicit FileLock(const std::filesystem::path& file, Children children = Children::kDoNotHold);

  // False: another process holds that byte.
  bool try_lock(std::int64_t byte = 0);
  // Waits for it.
  void lock(std::int64_t byte = 0);
  void unlock(std::int64_t byte = 0);

 private:
  UniqueFd file_;
};

}  // namespace tutti::os
