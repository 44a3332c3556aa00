// Locks between processes, held on bytes of a file.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tutti/os/unique_fd.h"

namespace tutti::os {

// A lock file whose bytes can be locked individually (open file description locks).
//
// Locks exclude processes of this host, and of other hosts if the file system supports it (NFS, Lustre mounted with
// `flock`). On a file system without locks every lock is granted, so callers must stay correct without them. Locks are
// released with the object and when the process exits. Not thread-safe; threads use one object each.
class FileLock {
 public:
  enum class Children { kDoNotHold, kHold };
  // Creates the file if it is missing. With kHold, programs that this process starts inherit the locks, which are then
  // held until the last of them exits. Throws IoError (DDL-7-96) if the file cannot be opened.
  explicit FileLock(const std::filesystem::path& file, Children children = Children::kDoNotHold);

  // Returns false if another FileLock object, of any process, holds the byte.
  bool try_lock(std::int64_t byte = 0);
  // Blocks until the byte is free.
  void lock(std::int64_t byte = 0);
  void unlock(std::int64_t byte = 0);

 private:
  UniqueFd file_;
};

}  // namespace tutti::os
