// What a job leaves behind for people and programs: docs/formats/run-folder.md.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/core/events.h"
#include "tutti/launch/environment.h"

namespace tutti::launch {

class RunFolder {
 public:
  // Makes `parent`/DDLRUN.<time>.<random>. Throws IoError when it cannot.
  explicit RunFolder(const std::filesystem::path& parent);

  const std::filesystem::path& path() const { return path_; }
  // The whole content of a file.
  void write(const std::string& name, std::string_view text) const;
  // Adds to a file.
  void append(const std::string& name, std::string_view text) const;
  EventLog& events() { return events_; }

 private:
  std::filesystem::path path_;
  EventLog events_;
};

// Where run folders go when --log-dir does not say: $TMPDIR/DDLRUN, for each user his own.
std::filesystem::path default_log_folder();

// A shell script that starts the same again: folder, variables, command.
std::string script_of(const std::string& folder, const Environment& environment,
                      const std::vector<std::string>& command);

}  // namespace tutti::launch
