// Metrics of the outputs of a network over the samples of all ranks.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "tutti/models/script/targets.h"
#include "tutti/train/task.h"

namespace tutti::models::script {

// Metrics per output, averaged over the outputs. cross_entropy: `accuracy`, the fraction of targets (samples, or
// pixels) whose class has the largest output. binary_cross_entropy: `accuracy`, the fraction on the right side of 0.
// Others: `explained`, the coefficient of determination (R squared); for an output with constant targets it is 1 if all
// predictions are exact and otherwise 0. With 2 to 16 outputs, each one is reported too.
class Score {
 public:
  // `outputs`: numbers per target. `origin`: any one target, the same on all ranks. Sums of squares are relative to it,
  // so that a large mean costs no precision.
  Score(Loss loss, std::int64_t outputs, torch::Tensor origin);

  // Adds a batch. `loss` is its mean.
  void add(const torch::Tensor& output, const torch::Tensor& target, double loss);
  // Collective; the same on every rank.
  train::Metrics metrics(comm::Communicator& communicator) const;

 private:
  bool counts() const;  // correct predictions; otherwise sums of squares
  const Loss loss_;
  const std::int64_t outputs_;
  const torch::Tensor origin_;
  double losses_ = 0, samples_ = 0;
  // Per output: number of targets, correct predictions or squared errors, sums and squared sums of the targets.
  torch::Tensor sums_;
};

}  // namespace tutti::models::script
