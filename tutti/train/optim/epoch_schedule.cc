#include "tutti/train/optim/epoch_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"

namespace tutti::train {

EpochSchedule::EpochSchedule(std::int64_t samples, std::int64_t step_samples,
                             std::int64_t first_step, DataPosition start)
    : step_samples_(step_samples),
      steps_per_epoch_(samples / step_samples),
      first_step_(first_step),
      start_(start) {
  if (steps_per_epoch_ == 0)
    throw ConfigError(
        "DDL-1-81",
        fmt::format("{} training samples do not fill one step of {}: `batch` times `accumulate` "
                    "times the number of ranks. Use a smaller batch, fewer ranks or more data.",
                    samples, step_samples));
  const std::int64_t left = std::max<std::int64_t>(0, samples - start.samples) / step_samples;
  shift_ = (start.epoch + 1) * steps_per_epoch_ - left - first_step;
}

DataPosition EpochSchedule::position(std::int64_t step) const {
  const std::int64_t epoch = even_step(step) / steps_per_epoch_;
  if (epoch == start_.epoch) return {epoch, start_.samples + (step - first_step_) * step_samples_};
  return {epoch, even_step(step) % steps_per_epoch_ * step_samples_};
}

std::int64_t EpochSchedule::steps_until(double epochs) const {
  const double even = std::floor(epochs * static_cast<double>(steps_per_epoch_) + 0.5);
  return step_of(static_cast<std::int64_t>(even));
}

}  // namespace tutti::train
