#include "tutti/lms/pager/swap_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/core/rounded_bytes.h"

namespace tutti::lms {
namespace {

constexpr std::int64_t kGrowthBytes = std::int64_t{256} << 20;
constexpr std::int64_t kSpareBytes = std::int64_t{64} << 20;  // left to other programs
constexpr long kTmpfsMagic = 0x01021994;

int open_unnamed(const std::string& directory, int flags) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  // File systems without O_TMPFILE. The file is unlinked immediately.
  std::string name = directory + "/tutti-lms-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC | flags);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

std::filesystem::path default_swap_directory() {
  for (const char* name : {"TUTTI_LMS_DIR", "TMPDIR"})
    if (const char* const value = ::getenv(name); value && *value) return value;
  return "/var/tmp";
}

SwapFile::SwapFile(const std::filesystem::path& directory, io::FileQueue::Engine engine,
                   io::FaultInjector faults)
    : directory_((directory.empty() ? default_swap_directory() : directory).string()) {
  file_ = os::UniqueFd(open_unnamed(directory_, O_DIRECT));
  is_direct_ = file_.is_open();
  if (!is_direct_ && errno == EINVAL) file_ = os::UniqueFd(open_unnamed(directory_, 0));
  if (!file_.is_open())
    throw IoError("DDL-5-71",
                  fmt::format("Cannot create a swap file in {}: {}. Name a writable directory on a "
                              "local disk with swap_dir or TUTTI_LMS_DIR.",
                              directory_, std::strerror(errno)));
  struct statfs system = {};
  static std::atomic<bool> has_warned = false;
  if (::fstatfs(file_.get(), &system) == 0 && system.f_type == kTmpfsMagic &&
      !has_warned.exchange(true))
    log::warning(
        "The swap file of large model support is in {}, a file system in memory. Name a "
        "directory on a disk with swap_dir or TUTTI_LMS_DIR.",
        directory_);
  queue_ = io::FileQueue::create(file_.get(), engine, std::move(faults));
}

SwapFile::Extent SwapFile::allocate(std::int64_t bytes) {
  bytes = (bytes + io::kIoAlignment - 1) / io::kIoAlignment * io::kIoAlignment;
  auto offset = extents_.take(bytes);
  if (!offset) {
    grow(bytes);
    offset = extents_.take(bytes);
  }
  return {*offset, bytes};
}

void SwapFile::free(Extent& extent) {
  if (!extent.exists()) return;
  extents_.give_back(extent.offset, extent.bytes);
  extent = {};
}

void SwapFile::grow(std::int64_t bytes) {
  const auto fail = [&](std::int64_t available) {
    throw IoError(
        "DDL-5-72",
        fmt::format("The disk of the swap file in {} is full: {} are needed besides the {} already "
                    "in use, and {} are free, of which {} are left to other programs. Free space, "
                    "name another directory with swap_dir or TUTTI_LMS_DIR, or raise the budget.",
                    directory_, rounded_bytes(bytes), rounded_bytes(extents_.end()),
                    rounded_bytes(available), rounded_bytes(std::min(available, kSpareBytes))));
  };
  struct statvfs disk = {};
  std::int64_t available = bytes;
  if (::fstatvfs(file_.get(), &disk) == 0) {
    available = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
    if (available - kSpareBytes < bytes) fail(available);
  }
  const std::int64_t growth =
      available - kSpareBytes < kGrowthBytes ? bytes : std::max(bytes, kGrowthBytes);
  const int result = ::fallocate(file_.get(), 0, extents_.end(), growth) == 0 ? 0 : errno;
  if (result == ENOSPC || result == EFBIG) fail(available);
  extents_.extend(
      growth);  // other errors: the file system cannot preallocate, and grows when written
}

}  // namespace tutti::lms
