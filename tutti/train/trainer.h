// The training loop.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tutti/core/options.h"
#include "tutti/train/run/stop_signal.h"
#include "tutti/train/task.h"

namespace tutti::train {

struct TrainJob {
  std::string case_name;
  const Options& options;
  std::filesystem::path folder;  // run directory; exists
  bool resumes = false;
  const StopSignal* stop = nullptr;  // request to stop early, if can_stop; may be null
};

struct TrainOutcome {
  std::int64_t steps = 0;  // of the whole run
  double seconds = 0;      // of training, since the start of the process
  double samples_per_second =
      0;  // of all ranks, since the start of the process without its first steps
  double exposed_share = 0;
  // Of the last evaluation. With a validation set: of the best weights on the test set.
  Metrics metrics;
  std::int64_t evaluated_step = 0;  // step of the weights of `metrics`
  bool is_best = false;             // the validation set selected these weights
  bool was_stopped = false;         // by a signal before the last step, with a checkpoint
};

// True if a run with these options can be stopped after any step, which requires that its ranks take steps together.
bool can_stop(const Options& options);

// Trains `task` with all ranks of the communicator. Collective; returns on every rank. Throws IoError if the run cannot
// be resumed, Error DDL-9-60 if losses or gradients stay non-finite, and ReportedByAnotherRank on ranks whose failure
// another rank reports. If `stop` is requested on any rank, all ranks end after the step, with a checkpoint.
TrainOutcome train(Task& task, comm::Communicator& communicator, const TrainJob& job);

struct SpeedReport {
  std::vector<double> step_seconds;     // of the slowest rank
  std::vector<double> alone_seconds;    // of one rank while the others are idle; ranks take turns
  std::vector<double> apart_seconds;    // of every rank while all train independently
  std::vector<double> slowest_seconds;  // maximum of apart_seconds in each step
  double exposed_share = 0;
};
// Trains on one random batch for `steps` steps after a warm-up: whole steps, without reading data. The three kinds of
// step alternate, so that other load on the machine affects all of them. Collective; returns the same on every rank.
SpeedReport measure_speed(Task& task, comm::Communicator& communicator, const Options& options,
                          int steps);

struct SavedResult {
  Metrics metrics;  // on the test samples
  EvalSplit selection_split = EvalSplit::kTest;
  std::int64_t step = 0;  // of the weights
  bool is_best = false;   // false: no evaluation has selected weights, these are the newest
};
// Loads the best weights of the run, or the newest if there are none, into the task's network and evaluates it. Rank 0
// writes plots into `plots` unless it is empty.
SavedResult evaluate_run(Task& task, comm::Communicator& communicator, const TrainJob& job,
                         const std::filesystem::path& plots);

// Loads the best weights of a run, or the newest if there are none, into the network. Collective: rank 0 reads them.
// `channels_last` must be as in training. Throws IoError if there is no checkpoint or it does not fit the network.
void load_weights(torch::nn::Module& model, const std::filesystem::path& folder,
                  comm::Communicator& communicator, bool channels_last);

}  // namespace tutti::train
