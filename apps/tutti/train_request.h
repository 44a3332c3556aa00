// What was typed after `tutti train`, and the folder it comes to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

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

// A run that is about to begin.
class RunStart {
 public:
  // Writes config.toml into a new folder, or the one to go on with.
  explicit RunStart(const TrainRequest& request);
  const std::filesystem::path& folder() const { return folder_; }
  bool has_taken_steps() const;  // since
  // When it failed: a new run that left nothing to read is forgotten; one that was resumed gets its
  // options back unless a step was taken with the new ones, so that it can be resumed without them.
  void undo() const;

 private:
  std::filesystem::path folder_;
  std::string options_before_;  // of a run to go on with; empty: it is new
};

// Throws ConfigError when `folder` is not that of a run.
void check_run(const std::filesystem::path& folder);

// Processors that this process may use.
int usable_processors();

// Runs the program that trains (beside this one, in ../libexec/tutti) on `ranks` processes of this
// host; when a launcher has started this process as a rank, becomes it instead. Returns its exit
// code.
int run_ranks(int ranks, std::vector<std::string> arguments);

}  // namespace tutti::app
