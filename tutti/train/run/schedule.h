// The learning rate as a function of the step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::train {

struct Schedule {
  enum class Shape { kConstant, kPolynomial, kCosine, kStep };
  Shape shape = Shape::kConstant;
  double peak = 0.001;
  double warmup_steps = 0;
  double total_steps = 1;
  double final_share = 0;  // of the peak, at the end
  double power = 1;
  std::vector<double> falls_at;  // shares of total_steps, ascending
  double fall_factor = 0.1;
  double start = 0;  // rate at step 0 of the warm-up

  // Rises in a straight line from `start` to `peak` during the warm-up, then follows its shape;
  // stays at the end what it is there.
  double rate(std::int64_t step) const;
};

// From the options of training. With rate_scaling the peak is that of `ranks` ranks and the warm-up
// starts at the rate of one.
Schedule make_schedule(const Options& options, int ranks, std::int64_t total_steps);

}  // namespace tutti::train
