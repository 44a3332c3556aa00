// What was typed after `tutti train`, and the folder it comes to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tutti/os/file_lock.h"
#include "tutti/train/run/config.h"

namespace tutti::app {

struct TrainRequest {
  train::Request what;
  int ranks = 0;                  // 0: one per processor
  std::filesystem::path resumes;  // folder of the run to go on with; empty: a new one
};

// Reads the command line. Returns false when only help was asked for, and printed. Throws
// ConfigError, also when the case does not know an option.
bool parse_train(int argc, char** argv, TrainRequest& request);

// A run that is about to begin. While this lives, and while ranks that this process has started
// live, no other process can train in its folder.
class RunStart {
 public:
  // Writes config.toml into a new folder, or the one to go on with, and a copy of the user's
  // network where the case has none: the run does not change when the user saves the network again.
  // Throws ConfigError or IoError; a new folder is then removed.
  explicit RunStart(const TrainRequest& request);
  const std::filesystem::path& folder() const { return folder_; }
  bool has_taken_steps() const;  // since
  // When it failed: a new run that left nothing to read is forgotten; one that was resumed gets its
  // options back unless a step was taken with the new ones, so that it can be resumed without them.
  void undo() const;

 private:
  void begin(const train::CaseInfo& info, const Options& options);

  std::filesystem::path folder_;
  std::string options_before_;  // of a run to go on with; empty: it is new
  std::optional<os::FileLock> lock_;
};

// Lets `options` name the copy of the network that the run of `folder` keeps, if it keeps one that
// this host can see.
void use_kept_network(const std::filesystem::path& folder, Options& options);

// Throws IoError when the option `data` names a folder that cannot be read.
void check_data_folder(const Options& options);

// Throws ConfigError when `folder` is not that of a run.
void check_run(const std::filesystem::path& folder);

// The options that a run was started with. Names from earlier releases are replaced by the current ones.
train::Request read_saved_options(const std::filesystem::path& folder);

// Runs the program that trains (beside this one, in ../libexec/tutti) on `ranks` processes of this
// host; when a launcher has started this process as a rank, becomes it instead. Returns its exit
// code.
int run_ranks(int ranks, std::vector<std::string> arguments);

}  // namespace tutti::app
