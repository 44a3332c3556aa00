// What a run must remember to go on later, and the checkpoints it is written to.
#pragma once

#include <future>
#include <limits>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/train/internal/run_context.h"
#include "tutti/train/optim/epoch_schedule.h"
#include "tutti/train/run/checkpoint_file.h"

namespace tutti::train {

// How far a run has come.
struct TrainingPosition {
  std::int64_t step = 0;     // so many were taken
  std::int64_t samples = 0;  // and so many samples seen, over all epochs
  DataPosition position = {};
};

class RunState {
 public:
  // With `job.resumes`, what the newest checkpoint has. Collective. Throws IoError when it does not
  // fit the network. `parts` must outlive this.
  RunState(RunContext& context, comm::Communicator& communicator);

  // Where this start begins.
  const TrainingPosition& start() const { return start_; }
  // Whether the checkpoint told the place in the data: those of version 1 do not.
  bool knows_position() const { return knows_position_; }
  // After each update of the weights: their average goes along, if there is one.
  void update_average();
  // All take the mean of their averages, where each has trained for itself. Collective.
  void agree_on_average(comm::Communicator& workers);
  // Whether rank 0 should write one by the clock; always false on others.
  bool is_checkpoint_late() const;
  // The same by the number of steps, on every rank.
  bool is_checkpoint_step(std::int64_t step) const;
  // Of the state now. Collective. What is written is a copy, so training goes on meanwhile; the
  // next one waits for this. Weights that are not finite are not written.
  void write(const TrainingPosition& now);
  // Until what is being written is on the disk. Throws what writing threw.
  void finish();

  // Makes every rank have what the others keep for it: slices of moments, stages of a pipeline.
  // Collective.
  void gather();
  // Whether an evaluation is better than all before it, or as good: later weights have seen more.
  bool is_best(const Metrics& metrics) const;
  // Remembers it as the best one, and writes the weights of now as such.
  void keep_best(const TrainingPosition& now, const Metrics& metrics);

  // The weights are their average, if there is one, while this lives.
  class Averaged {
   public:
    explicit Averaged(RunState& state);
    ~Averaged();
    Averaged(const Averaged&) = delete;
    Averaged& operator=(const Averaged&) = delete;

   private:
    const std::span<float> weights_;
    std::vector<float> kept_;
  };

 private:
  // What everybody needs who uses the weights; and what is needed besides to go on training.
  Checkpoint weights_of(const TrainingPosition& now);
  Checkpoint snapshot(const TrainingPosition& now, const std::vector<std::byte>& all_buffers);
  void resume(comm::Communicator& communicator);
  // Each rank its own where they are there, and else the mean of those who wrote them.
  void read_buffers(const Checkpoint& checkpoint);
  // Copies the array `buffers`, or this rank's part of `buffers.ranks`, into `mine`.
  void get_buffers(const Checkpoint& checkpoint, std::span<std::byte> mine);
  // Of all ranks of the group one after the other, on its first rank. Collective over the group.
  std::vector<std::byte> all_buffers();
  void read_position(const Checkpoint& checkpoint);

  RunContext& context_;
  CheckpointFolder checkpoints_;
  std::vector<float> average_;
  double best_ = -std::numeric_limits<double>::infinity();
  TrainingPosition start_;
  bool knows_position_ = true;
  std::int64_t written_step_ = 0;  // of the newest checkpoint
  Stopwatch since_written_;
  std::future<void> writing_;
};

}  // namespace tutti::train
