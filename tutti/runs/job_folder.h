// Run directory of a ddlrun job: creation, log files, removal of old ones. Format: docs/formats/run-folder.md.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/os/environment.h"
#include "tutti/os/unique_fd.h"
#include "tutti/runs/events.h"

namespace tutti::runs {

// An append-only file with mode 0600, opened or created by the first append. Threads may share the object, but only one
// at a time may append.
class LogFile {
 public:
  LogFile(std::shared_ptr<const os::UniqueFd> folder, std::filesystem::path path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  // Appends all of `text`. Returns 0 or errno. After a failure the next call tries again.
  int append(std::string_view text);
  std::string path() const { return path_.string(); }

 private:
  std::shared_ptr<const os::UniqueFd> folder_;
  std::filesystem::path path_;
  os::UniqueFd file_;
};

// The run directory of a running job. The object and its LogFiles hold a shared flock on the directory, which keeps
// another ddlrun from removing it as old. write() and LogFile open files relative to the open directory and without
// following links, so another process cannot redirect them.
class JobFolder {
 public:
  // Creates `parent`/DDLRUN.<time>.<random> with mode 0700. Throws ConfigError (DDL-3-18) if that fails.
  explicit JobFolder(const std::filesystem::path& parent);

  const std::filesystem::path& path() const { return path_; }
  // Creates or truncates a file and writes `text`. Throws IoError (DDL-3-39) if it could not be written completely.
  void write(const std::string& name, std::string_view text) const;
  // A log file in the directory.
  std::shared_ptr<LogFile> log(const std::string& name) const;
  const std::shared_ptr<EventLog>& events() const { return events_; }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const os::UniqueFd> folder_;  // with a shared flock
  std::shared_ptr<EventLog> events_;
};

// The default of --log-dir: $TMPDIR/DDLRUN-<user id>. Creates it with mode 0700. Throws ConfigError (DDL-3-38) if it is
// a symbolic link or belongs to another user, who could read or replace the files of the job.
std::filesystem::path default_log_folder();
// Creates `folder` with mode 0700, or changes the mode of an existing one. The parent must exist. Throws ConfigError
// like default_log_folder().
void make_private_folder(const std::filesystem::path& folder);

// Removes run directories in `parent` in which nothing has changed for `days`. Keeps those whose ddlrun is running, and
// those with files that neither ddlrun nor the communication library writes.
void remove_old_run_folders(const std::filesystem::path& parent, int days);

// Returns a shell script that starts the same job again: working directory `folder`, variables, command. It does not
// contain the values of the variables in `private_names`; set them before running it.
std::string script_of(const std::string& folder, const os::Environment& environment,
                      const std::vector<std::string>& private_names,
                      const std::vector<std::string>& command);

}  // namespace tutti::runs
