// The lower tier: an unnamed file on a local disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "tutti/io/file_queue.h"
#include "tutti/lms/pager/ranges.h"
#include "tutti/os/unique_fd.h"

namespace tutti::lms {

// A file without a name (O_TMPFILE): the kernel frees it when the process ends, however it ends. Uses O_DIRECT if the
// file system supports it, because buffered writes would keep the same bytes in the page cache.
//
// Extents are multiples of io::kIoAlignment. Freed extents are reused before the file grows. The file grows in fixed
// steps, for which the disk must have space. Not thread-safe, except for queue().
class SwapFile {
 public:
  struct Extent {
    std::int64_t offset = -1, bytes = 0;
    bool exists() const { return offset >= 0; }
  };

  // Throws IoError (DDL-5-71) if no file can be created in `directory`. Empty: default_directory().
  SwapFile(const std::filesystem::path& directory, io::FileQueue::Engine engine,
           io::FaultInjector faults);

  // Throws IoError (DDL-5-72) if the disk is full.
  Extent allocate(std::int64_t bytes);
  // Frees the extent, if it exists, and resets it. No transfer of it may be in flight.
  void free(Extent& extent);

  io::FileQueue& queue() { return *queue_; }
  const std::string& directory() const { return directory_; }
  bool is_direct() const { return is_direct_; }
  std::int64_t file_bytes() const { return extents_.end(); }

 private:
  void grow(std::int64_t bytes);

  std::string directory_;
  bool is_direct_ = false;
  os::UniqueFd file_;
  Ranges extents_{0};
  std::unique_ptr<io::FileQueue> queue_;  // destroyed before the file
};

// TUTTI_LMS_DIR, else TMPDIR, else /var/tmp. /tmp may be in memory.
std::filesystem::path default_swap_directory();

}  // namespace tutti::lms
