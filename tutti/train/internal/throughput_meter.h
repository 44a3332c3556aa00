// Length of a run and its throughput.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tutti/core/clock.h"
#include "tutti/train/internal/run_context.h"
#include "tutti/train/internal/stepper.h"
#include "tutti/train/optim/epoch_schedule.h"
#include "tutti/train/run/progress.h"

namespace tutti::train {

struct RunLength {
  EpochSchedule epoch_schedule;
  std::int64_t total_steps = 0;

  double step_samples() const { return static_cast<double>(epoch_schedule.step_samples()); }
  double epoch(std::int64_t step) const { return epoch_schedule.epoch(step); }
  double epochs() const { return epoch(total_steps); }
  // End of the epoch of `step`, or of the run.
  std::int64_t end_of_epoch(std::int64_t step) const {
    return std::min(total_steps, epoch_schedule.end_of_epoch(step));
  }
};

// Measures the steps since the start of the process. The first steps do not count: they allocate memory and build
// kernels.
class ThroughputMeter {
 public:
  // `start`: steps taken before. The clock starts now. `context` must outlive this object.
  ThroughputMeter(RunContext& context, const RunLength& length, std::int64_t start);

  void begin_step() { step_watch_.restart(); }
  // Returns the row of metrics.csv for step `step` (from 0), which has just ended.
  Metrics end_step(std::int64_t step, const StepReport& report);

  double seconds() const { return watch_.seconds(); }
  double samples_per_second() const { return state_.samples_per_second; }
  double exposed_share() const { return state_.exposed_share; }
  const ProgressState& progress() const { return state_; }

 private:
  RunContext& context_;
  const RunLength length_;
  std::int64_t previous_step_;   // the last step of this group
  std::int64_t steps_here_ = 0;  // since the start of the process
  double counted_seconds_ = 0, counted_samples_ = 0, counted_wait_ = 0;
  ProgressState state_;
  Stopwatch watch_, step_watch_;
};

}  // namespace tutti::train
