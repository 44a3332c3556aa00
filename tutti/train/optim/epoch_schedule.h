// The way of a run through its data: epoch after epoch, in steps of one size.
#pragma once

#include <cstdint>

namespace tutti::train {

// So many samples of this epoch were seen.
struct DataPosition {
  std::int64_t epoch = 0, samples = 0;
  bool operator==(const DataPosition&) const = default;
};

// A step takes the next `step_samples` of an epoch of `samples`; what does not fill a step at the
// end of an epoch is left out of it. A run may begin anywhere, so that one that was stopped goes on
// with steps of another size where it was: no sample of the epoch is seen twice.
class EpochSchedule {
 public:
  EpochSchedule() = default;
  // Step `first_step` begins at `start`. Throws ConfigError when an epoch has not one step.
  EpochSchedule(std::int64_t samples, std::int64_t step_samples, std::int64_t first_step = 0,
                DataPosition start = {});

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t step_samples() const { return step_samples_; }
  // Where step `step` begins, not before the first one.
  DataPosition position(std::int64_t step) const;

  // The number that a step would have if all steps since the first epoch had this size; the same as
  // `step` where they had. The end of each epoch is a multiple of steps_per_epoch.
  std::int64_t even_step(std::int64_t step) const { return step + shift_; }
  // The other way.
  std::int64_t step_of(std::int64_t even_step) const { return even_step - shift_; }
  double epoch(std::int64_t step) const {
    return static_cast<double>(even_step(step)) / static_cast<double>(steps_per_epoch_);
  }
  // How many steps were taken when `epochs` are over, rounded.
  std::int64_t steps_until(double epochs) const;
  // How many were taken at the end of the epoch in which `step` is taken.
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
