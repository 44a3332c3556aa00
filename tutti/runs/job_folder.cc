#include "tutti/runs/job_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"
#include "tutti/os/shell.h"
#include "tutti/runs/schema.h"

namespace tutti::runs {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPrivateFolder = 0700, kPrivateFile = 0600;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

fs::path make_folder(const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  std::string time = utc_text(wall_ns()).substr(0, 19);  // 2026-03-01T12:34:56
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  std::string name = (fs::absolute(parent) / fmt::format("DDLRUN.{}.XXXXXX", time)).string();
  if (error || !::mkdtemp(name.data())) {  // mode 0700
    throw ConfigError("DDL-3-18",
                      fmt::format("Cannot create a run directory in {}: {}. Choose another with "
                                  "--log-dir.",
                                  parent.string(), error ? error.message() : std::strerror(errno)));
  }
  return name;
}

std::shared_ptr<const os::UniqueFd> open_folder(const fs::path& path) {
  auto folder = std::make_shared<const os::UniqueFd>(::open(path.c_str(), kFolderFlags));
  if (folder->is_open()) ::flock(folder->get(), LOCK_SH | LOCK_NB);
  return folder;
}

// True if every file is one that ddlrun or the communication library writes.
bool holds_only_logs(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator files(folder, error);
  return !error && std::ranges::all_of(files, [](const fs::directory_entry& file) {
    return is_job_file(file.path().filename().string());
  });
}

bool is_older(const fs::path& path, int days) {
  std::error_code error;
  const auto changed = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - changed > std::chrono::hours(24 * days);
}

bool is_unused(const fs::path& folder, int days) {
  std::error_code error;
  const os::UniqueFd file(::open(folder.c_str(), kFolderFlags));
  if (!file.is_open() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  if (!is_older(folder, days) || !holds_only_logs(folder)) return false;
  return std::ranges::all_of(fs::directory_iterator(folder, error),
                             [&](const auto& entry) { return is_older(entry.path(), days); });
}

}  // namespace

int LogFile::append(std::string_view text) {
  if (!file_.is_open()) {
    file_ = os::UniqueFd(::openat(folder_->get(), path_.filename().c_str(),
                                  O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                                  kPrivateFile));
  }
  return file_.is_open() ? os::write_all(file_.get(), text.data(), text.size()) : errno;
}

JobFolder::JobFolder(const fs::path& parent)
    : path_(make_folder(parent)),
      folder_(open_folder(path_)),
      events_(std::make_shared<EventLog>(path_, -1, os::host_name())) {}

void JobFolder::write(const std::string& name, std::string_view text) const {
  const int file = ::openat(folder_->get(), name.c_str(),
                            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kPrivateFile);
  int error = file >= 0 ? os::write_all(file, text.data(), text.size()) : errno;
  // Network file systems report a full disk or quota on close.
  if (file >= 0 && ::close(file) != 0 && error == 0) error = errno;
  if (error == 0) return;
  throw IoError(
      "DDL-3-39",
      fmt::format(
          "Cannot write {}: {}. Free some space, or choose another directory with --log-dir.",
          (path_ / name).string(), std::strerror(error)));
}

std::shared_ptr<LogFile> JobFolder::log(const std::string& name) const {
  return std::make_shared<LogFile>(folder_, path_ / name);
}

void make_private_folder(const fs::path& folder) {
  const auto fail = [&](const std::string& why) {
    throw ConfigError("DDL-3-38", fmt::format("{} cannot hold run directories: {}. Choose another "
                                              "directory with --log-dir or TMPDIR.",
                                              folder.string(), why));
  };
  if (::mkdir(folder.c_str(), kPrivateFolder) != 0 && errno != EEXIST) fail(std::strerror(errno));
  const os::UniqueFd file(::open(folder.c_str(), kFolderFlags));
  if (!file.is_open()) {
    const bool is_link = errno == ELOOP || errno == ENOTDIR;
    fail(is_link ? "it is a symbolic link or not a directory" : std::strerror(errno));
  }
  struct stat state{};
  if (::fstat(file.get(), &state) != 0) fail(std::strerror(errno));
  if (state.st_uid != ::geteuid()) fail(fmt::format("it belongs to user {}", state.st_uid));
  if ((state.st_mode & 0777) != kPrivateFolder && ::fchmod(file.get(), kPrivateFolder) != 0) {
    fail(std::strerror(errno));
  }
}

fs::path default_log_folder() {
  const char* const temporary = std::getenv("TMPDIR");
  const fs::path top = temporary && *temporary ? temporary : "/tmp";
  const fs::path folder = fs::absolute(top) / fmt::format("DDLRUN-{}", ::geteuid());
  make_private_folder(folder);
  return folder;
}

void remove_old_run_folders(const fs::path& parent, int days) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const bool is_run = entry.path().filename().string().starts_with("DDLRUN.");
    if (is_run && is_unused(entry.path(), days)) fs::remove_all(entry.path(), ignored);
  }
}

std::string script_of(const std::string& folder, const os::Environment& environment,
                      const std::vector<std::string>& private_names,
                      const std::vector<std::string>& command) {
  std::string text = fmt::format("#!/bin/sh\ncd {}\n", os::shell_word(folder));
  for (const auto& [name, value] : environment) {
    if (std::ranges::find(private_names, name) == private_names.end()) {
      text += fmt::format("export {}={}\n", name, os::shell_word(value));
    } else {
      text += fmt::format("export {}  # its value is not stored: set it before\n", name);
    }
  }
  return text + "exec " + os::shell_line(command) + "\n";
}

}  // namespace tutti::runs
