#include "tutti/os/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "tutti/core/error.h"
#include "tutti/os/atomic_file.h"
#include "tutti/os/unique_fd.h"

namespace tutti::os {
namespace {

namespace fs = std::filesystem;

void check(const fs::path& path, std::error_code error) {
  if (error)
    throw IoError("DDL-9-02",
                  fmt::format("{}: cannot write the file: {}.", path.string(), error.message()));
}

// Resolves symbolic links, so the rename replaces the file and not the link.
fs::path target_of(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target;
}

bool is_special(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// Creates an empty draft, after checking that it may replace `path`.
AtomicFile make_draft(const fs::path& path) {
  AtomicFile file(target_of(path));
  std::error_code ignored;
  if (fs::is_directory(file.target(), ignored))
    check(path, std::make_error_code(std::errc::is_a_directory));
  if (fs::exists(file.target(), ignored) && ::access(file.target().c_str(), W_OK) != 0)
    check(path, last_error());
  const UniqueFd draft(
      ::open(file.draft().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!draft.is_open()) check(path, last_error());
  return file;
}

}  // namespace

void check_writable(const fs::path& path) {
  if (!is_special(path)) {
    make_draft(path);
  } else if (::access(path.c_str(), W_OK) != 0) {
    check(path, last_error());
  }
}

void write_whole(const fs::path& path, const std::function<void(const fs::path& draft)>& write) {
  if (is_special(path)) return write(path);
  AtomicFile file = make_draft(path);
  write(file.draft());
  std::error_code error;
  if (fs::exists(file.target(), error))
    fs::permissions(file.draft(), fs::status(file.target(), error).permissions(), error);
  check(path, file.commit(Durability::kDisk));
}

void write_whole(const fs::path& path, std::string_view text) {
  write_whole(path, [&](const fs::path& draft) {
    errno = 0;
    std::ofstream file(draft, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) check(path, last_error());
  });
}

}  // namespace tutti::os
