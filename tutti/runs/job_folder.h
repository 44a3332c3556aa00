// The folder in which a job leaves its logs: docs/formats/run-folder.md.
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

// A file that is only appended to. It is opened, or created, by the first append. Several threads
// may hold it, one at a time may append.
class LogFile {
 public:
  LogFile(std::shared_ptr<const os::UniqueFd> folder, std::filesystem::path path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  // Returns 0 or errno. After a failure the next append tries again.
  int append(std::string_view text);
  std::string path() const { return path_.string(); }

 private:
  std::shared_ptr<const os::UniqueFd> folder_;
  std::filesystem::path path_;
  os::UniqueFd file_;
};

class JobFolder {
 public:
  // Creates `parent`/DDLRUN.<time>.<random> with mode 0700. Throws ConfigError when it cannot.
  explicit JobFolder(const std::filesystem::path& parent);

  const std::filesystem::path& path() const { return path_; }
  // Creates or replaces a file. Throws IoError if it could not be written completely.
  void write(const std::string& name, std::string_view text) const;
  std::shared_ptr<LogFile> log(const std::string& name) const;
  const std::shared_ptr<EventLog>& events() const { return events_; }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const os::UniqueFd> folder_;  // locked, so no other ddlrun removes it
  std::shared_ptr<EventLog> events_;
};

// Run folders go here without --log-dir: $TMPDIR/DDLRUN-<user id>. Creates it with mode 0700.
// Throws ConfigError if it is a symbolic link or belongs to another user, who could read or replace
// the files of the job.
std::filesystem::path default_log_folder();
// Creates `folder`, whose parent must exist, with mode 0700, or restricts it to this mode. Throws
// ConfigError as default_log_folder() does.
void make_private_folder(const std::filesystem::path& folder);

// Removes run folders in `parent` in which nothing has changed for `days`, unless their ddlrun is
// running or they hold files that ddlrun and the communication library do not write.
void remove_old_run_folders(const std::filesystem::path& parent, int days);

// A shell script that starts the same job again: folder, variables, command. It does not contain
// the values of the variables in `private_names`; who runs it sets them.
std::string script_of(const std::string& folder, const os::Environment& environment,
                      const std::vector<std::string>& private_names,
                      const std::vector<std::string>& command);

}  // namespace tutti::runs
