// Position of a run in its data: epochs of steps of equal size.
#pragma once

#include <cstdint>

namespace tutti::train {

// `samples` of this epoch have been used.
struct DataPosition {
  std::int64_t epoch = 0, samples = 0;
  bool operator==(const DataPosition&) const = default;
};

// A step uses the next `step_samples` samples of an epoch of `samples`; the remainder at the end of an epoch is
// dropped. A run may start at any position, so a resumed run with another step size continues there: no sample is used
// twice in an epoch.
class EpochSchedule {
 public:
  EpochSchedule() = default;
  // Step `first_step` begins at `start`. Throws ConfigError if an epoch has less than one step.
  EpochSchedule(std::int64_t samples, std::int64_t step_samples, std::int64_t first_step = 0,
                DataPosition start = {});

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t step_samples() const { return step_samples_; }
  // Position at which `step` begins; not before the first one.
  DataPosition position(std::int64_t step) const;

  // Number that a step would have if all steps since the first epoch had this size; equal to `step` if they had. The
  // end of each epoch is a multiple of steps_per_epoch.
  std::int64_t even_step(std::int64_t step) const { return step + shift_; }
  // Inverse of even_step.
  std::int64_t step_of(std::int64_t even_step) const { return even_step - shift_; }
  double epoch(std::int64_t step) const {
    return static_cast<double>(even_step(step)) / static_cast<double>(steps_per_epoch_);
  }
  // Number of steps after `epochs` epochs, rounded.
  std::int64_t steps_until(double epochs) const;
  // Number of steps at the end of the epoch of `step`.
  std::int64_t end_of_epoch(std::int64_t step) const {
    return step_of((even_step(step) / steps_per_epoch_ + 1) * steps_per_epoch_);
  }

 private:
  std::int64_t step_samples_ = 1, steps_per_epoch_ = 1;
  std::int64_t first_step_ = 0;
  DataPosition start_;
  std::int64_t shift_ = 0;
};

}  // namespace tutti::train
