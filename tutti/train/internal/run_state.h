// State from which a run can be resumed, and its checkpoints.
#pragma once

#include <future>
#include <limits>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/train/internal/run_context.h"
#include "tutti/train/optim/epoch_schedule.h"
#include "tutti/train/run/checkpoint_file.h"

namespace tutti::train {

// Progress of a run.
struct TrainingPosition {
  std::int64_t step = 0;     // steps taken
  std::int64_t samples = 0;  // samples used, over all epochs
  DataPosition position = {};
};

class RunState {
 public:
  // With `job.resumes`, restores the newest checkpoint. Collective. Throws IoError if it does not fit the network.
  // `context` must outlive this object.
  RunState(RunContext& context, comm::Communicator& communicator);

  // Position at which this start of the run begins.
  const TrainingPosition& start() const { return start_; }
  // Whether the checkpoint had the position in the data; those of version 1 do not.
  bool knows_position() const { return knows_position_; }
  // Updates the moving average of the weights, if there is one. Call it after each update of the weights.
  void update_average();
  // Averages the moving averages of ranks that train independently. Collective.
  void agree_on_average(comm::Communicator& workers);
  // Whether rank 0 should write a checkpoint by time; always false on other ranks.
  bool is_checkpoint_late() const;
  // Whether a checkpoint is due by the number of steps; the same on every rank.
  bool is_checkpoint_step(std::int64_t step) const;
  // Writes a checkpoint of the current state. Collective. A background thread writes a copy while training continues;
  // the next call waits for it. Weights that are not finite are not written.
  void write(const TrainingPosition& now);
  // Waits until the checkpoint is on disk. Throws the error of the writing thread.
  void finish();

  // Exchanges state that is distributed over the ranks: shards of the optimizer state, stages of a pipeline.
  // Collective.
  void gather();
  // Whether an evaluation is at least as good as all earlier ones. On a tie the later weights win: they were trained
  // longer.
  bool is_best(const Metrics& metrics) const;
  // Records the evaluation as the best one and writes the current weights to the best checkpoint.
  void keep_best(const TrainingPosition& now, const Metrics& metrics);

  // While an object exists, the model has the moving average of the weights, if there is one.
  class Averaged {
   public:
    explicit Averaged(RunState& state);
    ~Averaged();
    Averaged(const Averaged&) = delete;
    Averaged& operator=(const Averaged&) = delete;

   private:
    const std::span<float> weights_;
    std::vector<float> saved_;
  };

 private:
  // The part of a checkpoint that users of the weights need, and the whole, which resuming needs.
  Checkpoint weights_of(const TrainingPosition& now);
  Checkpoint snapshot(const TrainingPosition& now, const std::vector<std::byte>& all_buffers);
  void resume(comm::Communicator& communicator);
  // Restores the buffers of this rank if the checkpoint has them, otherwise the mean over the ranks that wrote it.
  void read_buffers(const Checkpoint& checkpoint);
  // Copies the array `buffers`, or this rank's part of `buffers.ranks`, into `mine`.
  void get_buffers(const Checkpoint& checkpoint, std::span<std::byte> mine);
  // Buffers of all ranks of the group, concatenated on its first rank. Collective over the group.
  std::vector<std::byte> all_buffers();
  void read_position(const Checkpoint& checkpoint);

  RunContext& context_;
  CheckpointFolder checkpoints_;
  std::vector<float> average_;
  double best_ = -std::numeric_limits<double>::infinity();
  TrainingPosition start_;
  bool knows_position_ = true;
  std::int64_t written_step_ = 0;  // step of the newest checkpoint
  Stopwatch since_written_;
  std::future<void> writing_;
};

}  // namespace tutti::train
