// Batch normalisation over the batches of all ranks that take a step together.
#pragma once

#include <torch/types.h>

#include "tutti/comm/communicator.h"

namespace tutti::train {

// While this lives, batch_norm on this thread takes its means over the ranks of `group`, which must
// also outlive the backward pass. Every rank must call batch_norm as often. `group` must be a
// communicator that nobody else uses meanwhile.
class SyncBatchNormScope {
 public:
  explicit SyncBatchNormScope(comm::Communicator& group);
  ~SyncBatchNormScope();
  SyncBatchNormScope(const SyncBatchNormScope&) = delete;
  SyncBatchNormScope& operator=(const SyncBatchNormScope&) = delete;

 private:
  comm::Communicator* before_;
};

// torch::batch_norm, channels in dimension 1. In training with a SyncBatchNormScope the means and
// variances, and the running ones, are those of the samples of all ranks, however they are dealt;
// gradients of `scale` and `shift` are this rank's, as the trainer averages them.
torch::Tensor batch_norm(const torch::Tensor& input, const torch::Tensor& scale,
                         const torch::Tensor& shift, const torch::Tensor& running_mean,
                         const torch::Tensor& running_variance, bool is_training, double momentum,
                         double epsilon);

}  // namespace tutti::train
