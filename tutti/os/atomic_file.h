// Files that are complete or absent: written aside, then renamed.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>

namespace tutti::os {

// kPageCache: a crash of the machine may lose the file; kDisk: fsync before the rename, and of the
// directory after it.
enum class Durability { kPageCache, kDisk };

// kMany: several processes, on any host, may write the same target at once; each draft has a unique
// name. kOne: the draft is always `<target>.part`, so one that a killed process left is
// overwritten.
enum class Writers { kOne, kMany };

// A file that takes the place of `target` when it is complete. The draft is in the same directory.
// The destructor removes a draft that was not committed.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target, Writers writers = Writers::kMany);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;

  const std::filesystem::path& target() const { return target_; }
  // The file to write; closed before commit().
  const std::filesystem::path& draft() const { return draft_; }
  // Renames the draft to the target. On failure the target is as it was.
  std::error_code commit(Durability durability = Durability::kPageCache);

 private:
  std::filesystem::path target_, draft_;
};

// Writes `text` to a draft and commits it.
std::error_code write_atomically(const std::filesystem::path& target, std::string_view text,
                                 Durability durability = Durability::kPageCache,
                                 Writers writers = Writers::kMany);

// errno as an error; EIO if it is 0, as after a stream that failed for another reason.
std::error_code last_error();

}  // namespace tutti::os
