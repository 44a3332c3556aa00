// Metrics of the outputs of a network over the samples of all ranks.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "tutti/models/script/targets.h"
#include "tutti/train/task.h"

namespace tutti::models::script {

// Every metric is computed per output and averaged over the outputs. cross_entropy: `accuracy`, the
// fraction of targets (samples, or pixels) whose class has the largest output.
// binary_cross_entropy: `accuracy`, the fraction on the right side of 0. Others: `explained`, the
// fraction of the variance that is explained (R squared); of an output whose targets are constant
// it is 1 when all are met and else 0. With 2 to 16 outputs each one is reported, too.
class Score {
 public:
  // `outputs`: numbers in one target. `origin`: any one target, from which sums of squares are
  // taken so that a large mean costs no digits; the same on all ranks.
  Score(Loss loss, std::int64_t outputs, torch::Tensor origin);

  // Adds a batch. `loss` is its mean.
  void add(const torch::Tensor& output, const torch::Tensor& target, double loss);
  // Collective; the same on every rank.
  train::Metrics metrics(comm::Communicator& communicator) const;

 private:
  bool counts() const;  // right ones; else sums of squares
  const Loss loss_;
  const std::int64_t outputs_;
  const torch::Tensor origin_;
  double losses_ = 0, samples_ = 0;
  // Of each output: number of targets, right ones or squared errors, sums and squared sums of the
  // targets.
  torch::Tensor sums_;
};

}  // namespace tutti::models::script
