// One step of training: batches forward and backward, losses that all ranks hear of, updates.
#pragma once

#include <memory>
#include <vector>

#include "tutti/train/internal/run_context.h"
#include "tutti/train/loader.h"

namespace tutti::train {

struct StepReport {
  Metrics losses;  // of the updates, by name
  StepTimes times;
  double rate = 0;
  bool is_finite = true;           // every loss and gradient of every rank was finite
  bool is_checkpoint_due = false;  // rank 0 wants one
  bool stop_requested = false;     // by a signal to any rank
};

class Stepper {
 public:
  // On ranks that train; collective over each group of the strategy. `parts` must outlive this.
  explicit Stepper(RunContext& context);

  // Takes step `step` (from 0) at this rate with the next batches of the loader. Collective over
  // the group. Throws Error DDL-9-60 when `max_nonfinite_steps` of them had a loss or gradient that is not
  // finite.
  StepReport take(Loader& loader, std::int64_t step, double rate, bool wants_checkpoint);

 private:
  // What the ranks of a group tell each other about an update: means over them.
  struct Shared {
    float loss = 0, not_finite = 0, wants_checkpoint = 0, wants_stop = 0;
  };
  void take_update(std::size_t update, Loader& loader, Shared shared, StepReport& report);
  torch::Tensor loss_of(std::size_t update, const Batch& batch, std::uint64_t seed);
  // `was_finite`: the losses of this rank.
  void finish_update(std::size_t update, const Shared& shared, bool was_finite, StepReport& report);
  std::string nonfinite_location() const;
  void report_nonfinite(const std::string& what, const std::string& where);
  void end_if_nonfinite_too_long();

  RunContext& context_;
  std::unique_ptr<comm::Communicator> norm_group_;  // of synchronised batch norm; or none
  std::vector<Batch> batches_;                      // all updates of a step use the same
  std::int64_t step_ = 0;
  std::int64_t nonfinite_steps_ = 0;  // in a row
};

}  // namespace tutti::train
