// The learning rate as a function of the step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::train {

struct Schedule {
  // The choices of the option `schedule`.
  enum class Shape { kConstant, kPolynomial, kCosine, kStep };
  Shape shape = Shape::kConstant;
  double peak = 0.001;
  double warmup_steps = 0;
  double total_steps = 1;
  double final_share = 0;  // of the peak, at the end
  double power = 1;
  struct Fall {
    double at = 1, factor = 0.1;  // at this share of total_steps, by this factor
  };
  std::vector<Fall> falls;
  double start = 0;  // rate at step 0 of the warm-up

  // Rises in a straight line from `start` to `peak` during the warm-up, then follows its shape;
  // stays at the end what it is there.
  double rate(std::int64_t step) const;
};

// From the options of training. With lr_scaling the peak is that of all samples of a step of
// `ranks` ranks, and the warm-up starts at the rate of those that `learning_rate` is for.
Schedule make_schedule(const Options& options, int ranks, std::int64_t total_steps);

}  // namespace tutti::train
