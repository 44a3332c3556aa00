// What a run must remember to go on later, and the checkpoints it is written to.
#pragma once

#include <future>
#include <limits>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/train/internal/parts.h"
#include "tutti/train/run/checkpoint_file.h"

namespace tutti::train {

class RunState {
 public:
  // With `job.resumes`, what the newest checkpoint has. Collective. Throws IoError when it does not
  // fit the network. `parts` must outlive this.
  RunState(RunParts& parts, comm::Communicator& communicator);

  // Steps that were taken before this start.
  std::int64_t first_step() const { return first_step_; }
  // After each update of the weights: their average goes along, if there is one.
  void follow_average();
  // All take the mean of their averages, where each has trained for itself. Collective.
  void agree_on_average(comm::Communicator& workers);
  // Whether rank 0 should write one by the clock; always false on others.
  bool is_checkpoint_late() const;
  // The same by the number of steps, on every rank.
  bool is_checkpoint_step(std::int64_t step) const;
  // Of the state after `step` steps. Collective. What is written is a copy, so training goes on
  // meanwhile; the next one waits for this. Weights that are not finite are not written.
  void write(std::int64_t step);
  // Until what is being written is on the disk. Throws what writing threw.
  void finish();

  // Makes every rank have what the others keep for it: slices of moments, stages of a pipeline.
  // Collective.
  void gather();
  // Whether an evaluation is better than all before it.
  bool is_best(const Metrics& metrics) const;
  // Remembers it as the best one, and writes the weights of now as such.
  void keep_best(std::int64_t step, const Metrics& metrics);

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
  Checkpoint snapshot(std::int64_t step);
  void resume(comm::Communicator& communicator);

  RunParts& parts_;
  CheckpointFolder checkpoints_;
  std::vector<float> average_;
  double best_ = -std::numeric_limits<double>::infinity();
  std::int64_t first_step_ = 0;
  std::int64_t written_step_ = 0;  // of the newest checkpoint
  Stopwatch since_written_;
  std::future<void> writing_;
};

}  // namespace tutti::train
