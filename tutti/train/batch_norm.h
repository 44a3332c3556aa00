// Batch normalisation over the batches of all ranks of a step (synchronised batch norm).
#pragma once

#include <torch/types.h>

#include "tutti/comm/communicator.h"

namespace tutti::train {

// While an object exists, batch_norm on this thread computes its statistics over the ranks of `group`. `group` must
// outlive the backward pass and must not be used by anything else meanwhile. Every rank must call batch_norm equally
// often.
class SyncBatchNormScope {
 public:
  explicit SyncBatchNormScope(comm::Communicator& group);
  ~SyncBatchNormScope();
  SyncBatchNormScope(const SyncBatchNormScope&) = delete;
  SyncBatchNormScope& operator=(const SyncBatchNormScope&) = delete;

 private:
  comm::Communicator* before_;
};

// torch::batch_norm with the channels in dimension 1. In training, within a SyncBatchNormScope, means and variances and
// the running statistics are those of the samples of all ranks, however these are distributed. Gradients of `scale` and
// `shift` are those of this rank, because the trainer averages them.
torch::Tensor batch_norm(const torch::Tensor& input, const torch::Tensor& scale,
                         const torch::Tensor& shift, const torch::Tensor& running_mean,
                         const torch::Tensor& running_variance, bool is_training, double momentum,
                         double epsilon);

}  // namespace tutti::train
