// One training step: forward and backward passes, reduction of the losses, optimizer updates.
#pragma once

#include <memory>
#include <vector>

#include "tutti/train/internal/run_context.h"
#include "tutti/train/loader.h"

namespace tutti::train {

struct StepReport {
  Metrics losses;  // of each update, by name
  StepTimes times;
  double rate = 0;
  bool is_finite = true;           // all losses and gradients of all ranks
  bool is_checkpoint_due = false;  // requested by rank 0
  bool stop_requested = false;     // by a signal on any rank
};

// Takes the steps of one rank that trains. Not thread-safe.
class Stepper {
 public:
  // For ranks that train; collective over each group of the strategy. `context` must outlive this object.
  explicit Stepper(RunContext& context);

  // Takes step `step` (from 0) at this learning rate with the next batches of the loader. Collective over the group.
  // Throws Error DDL-9-60 after `max_nonfinite_steps` consecutive steps with a non-finite loss or gradient.
  StepReport take(Loader& loader, std::int64_t step, double rate, bool wants_checkpoint);

 private:
  // Values that the ranks of a group average for each update.
  struct Shared {
    float loss = 0, not_finite = 0, wants_checkpoint = 0, wants_stop = 0;
  };
  void take_update(std::size_t update, Loader& loader, Shared shared, StepReport& report);
  torch::Tensor loss_of(std::size_t update, const Batch& batch, std::uint64_t seed);
  // `was_finite`: whether the losses of this rank were.
  void finish_update(std::size_t update, const Shared& shared, bool was_finite, StepReport& report);
  std::string nonfinite_location() const;
  void report_nonfinite(const std::string& what, const std::string& where);
  void end_if_nonfinite_too_long();

  RunContext& context_;
  std::unique_ptr<comm::Communicator> norm_group_;  // null without synchronised batch norm
  std::vector<Batch> batches_;                      // shared by all updates of a step
  std::int64_t step_ = 0;
  std::int64_t nonfinite_steps_ = 0;  // consecutive
};

}  // namespace tutti::train
