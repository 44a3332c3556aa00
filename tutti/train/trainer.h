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
  std::filesystem::path folder;  // of the run; exists
  bool resumes = false;
  const StopSignal* stop = nullptr;  // a wish to end early, where can_stop says so; or none
};

struct TrainOutcome {
  std::int64_t steps = 0;         // of the whole run
  double seconds = 0;             // of training, of this start
  double samples_per_second = 0;  // of all ranks, over the whole start but its first steps
  double exposed_share = 0;
  // Of the last evaluation; where there are samples for validation, of the best weights on the
  // test.
  Metrics metrics;
  std::int64_t evaluated_step = 0;  // of the weights that these are of
  bool is_best = false;             // the validation set has chosen these weights
  bool was_stopped = false;         // by a signal before its last step, with a checkpoint
};

// Whether a run with these options can be stopped after any step: its ranks take steps together.
bool can_stop(const Options& options);

// Trains `task` with all ranks of the communicator. Collective; returns on every rank. Throws
// IoError when the run cannot be resumed, Error DDL-9-60 when losses or gradients stay not finite;
// ranks whose failure another one tells, ReportedByAnotherRank.
// When `stop` is asked on any rank, all end after the step, with a checkpoint.
TrainOutcome train(Task& task, comm::Communicator& communicator, const TrainJob& job);

struct SpeedReport {
  std::vector<double> step_seconds;     // of the slowest rank
  std::vector<double> alone_seconds;    // of one rank while the others sleep; they take turns
  std::vector<double> apart_seconds;    // of every rank, while all train, each for itself
  std::vector<double> slowest_seconds;  // the largest of these in each step
  double exposed_share = 0;
};
// Trains on one random batch for `steps` steps after a warm-up: the whole step, without data. The
// three kinds of step take turns, so that what else the machine does meets all of them. Collective;
// the same on every rank.
SpeedReport measure_speed(Task& task, comm::Communicator& communicator, const Options& options,
                          int steps);

struct SavedResult {
  Metrics metrics;  // on the test samples
  EvalSplit selection_split = EvalSplit::kTest;
  std::int64_t step = 0;  // of the weights
  bool is_best = false;   // false: no evaluation has chosen any, these are the newest
};
// Loads the best weights of the run, or else the newest, into the task's network and evaluates it.
// Rank 0 writes plots into `plots`, unless it is empty.
SavedResult evaluate_run(Task& task, comm::Communicator& communicator, const TrainJob& job,
                         const std::filesystem::path& plots);

// Loads the weights of a run into the network: the best ones, or else the newest. Collective: rank
// 0 reads them. `channels_last` as in training.
void load_weights(torch::nn::Module& model, const std::filesystem::path& folder,
                  comm::Communicator& communicator, bool channels_last);

}  // namespace tutti::train
