// The lower tier: an unnamed file on a local disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "tutti/io/file_queue.h"
#include "tutti/lms/pager/backing_store.h"
#include "tutti/lms/pager/ranges.h"
#include "tutti/os/unique_fd.h"

namespace tutti::lms {

// A file without a name (O_TMPFILE): the kernel frees it when the process ends, however it ends. Uses O_DIRECT if the
// file system supports it, because buffered writes would keep the same bytes in the page cache.
//
// Extents are multiples of io::kIoAlignment. Freed extents are reused before the file grows. The file grows in fixed
// steps, for which the disk must have space. Not thread-safe, except for transfers.
class SwapFile final : public BackingStore {
 public:
  // Throws IoError (DDL-5-71) if no file can be created in `directory`. Empty: default_swap_directory().
  SwapFile(const std::filesystem::path& directory, io::FileQueue::Engine engine,
           io::FaultInjector faults);

  // Throws IoError (DDL-5-72) if the disk is full.
  Extent allocate(std::int64_t bytes) override;
  void free(Extent& extent) override;

  void start_write(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                   const std::byte* source) override {
    queue_->start_write(id, offset, bytes, source);
  }
  void start_read(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                  std::byte* target) override {
    queue_->start_read(id, offset, bytes, target);
  }
  bool is_done(std::int64_t id) override { return queue_->is_done(id); }
  void wait(std::int64_t id) override { queue_->wait(id); }
  int result(std::int64_t id) override { return queue_->result(id); }

  std::string name() const override { return "the swap file in " + directory_; }
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
