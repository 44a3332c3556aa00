#include "tutti/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tutti/core/error.h"

namespace tutti::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw IoError("DDL-9-02",
                fmt::format("{}: cannot write it: {}.", path.string(), std::strerror(error)));
}

// The file that a chain of links ends in, so that the links stay.
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

// In the same folder, which is on the same disk.
fs::path draft_of(const fs::path& target) {
  return target.string() + fmt::format(".{}.part", ::getpid());
}

// Removes the draft unless it has become the file.
struct Draft {
  fs::path path;
  ~Draft() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

// Makes the draft, empty; what is at `path` could be replaced then.
void make_draft(const fs::path& path, const fs::path& target, const fs::path& draft) {
  std::error_code error;
  if (fs::is_directory(target, error)) fail(path, EISDIR);
  if (fs::exists(target, error) && ::access(target.c_str(), W_OK) != 0) fail(path, errno);
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail(path, errno);
  ::close(file);
}

// On the disk, so that no power cut leaves an empty file in the place of the old one.
void flush(const fs::path& path, const fs::path& draft) {
  const int file = ::open(draft.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(path, errno);
  const int failed = ::fsync(file) != 0 ? errno : 0;
  ::close(file);
  if (failed != 0) fail(path, failed);
}

}  // namespace

void check_writable(const fs::path& path) {
  if (is_special(path)) {
    if (::access(path.c_str(), W_OK) != 0) fail(path, errno);
    return;
  }
  const fs::path target = target_of(path);
  const Draft draft{draft_of(target)};
  make_draft(path, target, draft.path);
}

void write_whole(const fs::path& path, const std::function<void(const fs::path& draft)>& write) {
  if (is_special(path)) return write(path);
  const fs::path target = target_of(path);
  const Draft draft{draft_of(target)};
  make_draft(path, target, draft.path);
  write(draft.path);
  flush(path, draft.path);
  std::error_code error;
  if (fs::exists(target, error))
    fs::permissions(draft.path, fs::status(target, error).permissions(), error);
  fs::rename(draft.path, target, error);
  if (error) fail(path, error.value());
}

void write_whole(const fs::path& path, std::string_view text) {
  write_whole(path, [&](const fs::path& draft) {
    errno = 0;
    std::ofstream file(draft, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) fail(path, errno != 0 ? errno : EIO);
  });
}

}  // namespace tutti::io
