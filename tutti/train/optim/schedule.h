// Learning rate schedules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::train {

struct Schedule {
  // Choices of the option `schedule`.
  enum class Shape { kConstant, kPolynomial, kCosine, kStep };
  Shape shape = Shape::kConstant;
  double peak = 0.001;
  double warmup_steps = 0;
  double total_steps = 1;
  double final_share = 0;  // final rate as a fraction of the peak
  double power = 1;
  struct Fall {
    double at = 1, factor = 0.1;  // milestone as a fraction of total_steps, and its factor
  };
  std::vector<Fall> falls;
  double start = 0;  // rate at the first step of the warm-up

  // Rises linearly from `start` to `peak` during the warm-up, then follows its shape; constant after the end.
  double rate(std::int64_t step) const;
};

// Builds the schedule from the training options. With lr_scaling, the peak is that of the global batch of `ranks`
// ranks, and the warm-up starts at `learning_rate`.
Schedule make_schedule(const Options& options, int ranks, std::int64_t total_steps);

}  // namespace tutti::train
