// Command line of `tutti train` and the run directory it refers to.
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
  int ranks = 0;                  // 0: one per CPU
  std::filesystem::path resumes;  // run directory to resume; empty: a new run
};

// Reads the command line. Returns false if only help was requested, and printed. Throws ConfigError, for example for an
// option that the case does not have.
bool parse_train(int argc, char** argv, TrainRequest& request);

// A run that is about to start. While this object exists, and while ranks that this process has started are running, no
// other process can train in its directory.
class RunStart {
 public:
  // Writes config.toml into a new or resumed run directory, and a copy of the user's model if the case has none: the
  // run does not change if the user saves the model again. Throws ConfigError or IoError; a new directory is then
  // removed.
  explicit RunStart(const TrainRequest& request);
  const std::filesystem::path& folder() const { return folder_; }
  bool has_taken_steps() const;  // since the start
  // Call it after a failure. A new run that left nothing to read is removed. A resumed run gets its former options back
  // unless a step was taken with the new ones, so it can be resumed without them.
  void undo() const;

 private:
  void begin(const train::CaseInfo& info, const Options& options);

  std::filesystem::path folder_;
  std::string options_before_;  // of a resumed run; empty for a new one
  std::optional<os::FileLock> lock_;
};

// Sets the option `model` to the copy of the model in the run directory `folder`, if this host can read one.
void use_kept_network(const std::filesystem::path& folder, Options& options);

// Throws IoError if the directory of the option `data` cannot be read.
void check_data_folder(const Options& options);

// Throws ConfigError if `folder` is not a run directory.
void check_run(const std::filesystem::path& folder);

// The options that a run was started with. Names from earlier releases are replaced by the current ones. Throws
// ConfigError if config.toml cannot be read or names an unknown case.
train::Request read_saved_options(const std::filesystem::path& folder);

// Runs the training program (../libexec/tutti next to this one) as `ranks` processes on this host. If a launcher has
// started this process as a rank, replaces it by that program instead. Returns its exit code.
int run_ranks(int ranks, std::vector<std::string> arguments);

}  // namespace tutti::app
