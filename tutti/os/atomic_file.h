// Atomic replacement of files: write a draft in the same directory, then rename it.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>

namespace tutti::os {

// kPageCache: survives the process, but a crash of the machine may lose the file.
// kDisk: fsync of the draft before the rename, and of the directory after it.
enum class Durability { kPageCache, kDisk };

// kOne: the draft is `<target>.part`, so the next writer overwrites the draft of a killed process.
// kMany: several threads and processes, on any host, may write the same target concurrently. Every draft has a unique
// name, so the draft of a killed process stays.
enum class Writers { kOne, kMany };

// A file that replaces `target` when it is complete. Until then readers see the old target or none. Not thread-safe.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target, Writers writers = Writers::kMany);
  ~AtomicFile();  // removes a draft that was not committed
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;

  const std::filesystem::path& target() const { return target_; }
  // Path of the file to write. The caller creates it, and closes it before commit().
  const std::filesystem::path& draft() const { return draft_; }
  // Renames the draft to the target. On failure the target is unchanged.
  std::error_code commit(Durability durability = Durability::kPageCache);

 private:
  std::filesystem::path target_, draft_;
};

// Replaces the content of `target` with `text`. On failure the target is unchanged.
std::error_code write_atomically(const std::filesystem::path& target, std::string_view text,
                                 Durability durability = Durability::kPageCache,
                                 Writers writers = Writers::kMany);

// errno as an error code; EIO if it is 0, because a failed stream need not set it.
std::error_code last_error();

}  // namespace tutti::os
