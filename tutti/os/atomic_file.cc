#include "tutti/os/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <utility>

#include "tutti/os/environment.h"
#include "tutti/os/unique_fd.h"

namespace tutti::os {
namespace {

namespace fs = std::filesystem;

fs::path draft_of(const fs::path& target, Writers writers) {
  static std::atomic<int> count = 0;
  if (writers == Writers::kOne) return target.string() + ".part";
  return target.string() + fmt::format(".{}-{}-{}.part", host_name(), ::getpid(), count++);
}

std::error_code flush(const fs::path& path, int flags) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  return file.is_open() && ::fsync(file.get()) == 0 ? std::error_code() : last_error();
}

}  // namespace

AtomicFile::AtomicFile(fs::path target, Writers writers)
    : target_(std::move(target)), draft_(draft_of(target_, writers)) {}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  if (!draft_.empty()) fs::remove(draft_, ignored);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)), draft_(std::exchange(other.draft_, {})) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(target_, other.target_);
  std::swap(draft_, other.draft_);
  return *this;
}

std::error_code AtomicFile::commit(Durability durability) {
  std::error_code error;
  if (durability == Durability::kDisk) error = flush(draft_, 0);
  if (!error) fs::rename(draft_, target_, error);
  if (error) return error;
  draft_.clear();
  if (durability == Durability::kDisk) flush(fs::absolute(target_).parent_path(), O_DIRECTORY);
  return error;
}

std::error_code write_atomically(const fs::path& target, std::string_view text,
                                 Durability durability, Writers writers) {
  AtomicFile file(target, writers);
  errno = 0;
  std::ofstream stream(file.draft(), std::ios::binary);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  return stream ? file.commit(durability) : last_error();
}

std::error_code last_error() {
  return {errno != 0 ? errno : EIO, std::generic_category()};
}

}  // namespace tutti::os
