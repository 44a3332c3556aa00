"""Batch normalisation over the batches of all ranks."""

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from tutti.horovod.basics import Sum, global_process_set
from tutti.horovod.torch.ops import allreduce


class SyncBatchNorm(_BatchNorm):
    """As torch.nn.BatchNorm, with mean and variance of the batches of all ranks together; they may differ in size."""

    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_set=global_process_set
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self._process_set = process_set

    def _check_input_dim(self, input):  # noqa: A002  torch's name
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input):  # noqa: A002  torch's name
        self._check_input_dim(input)
        uses_batch = self.training or self.running_mean is None
        if not uses_batch or self._process_set.size() == 1:
            return super().forward(input)
        over = [0, *range(2, input.dim())]
        count = input.numel() / input.shape[1]
        sums = torch.cat([input.sum(over), (input * input).sum(over), input.new_tensor([count])])
        # The sum over ranks, whose gradient is the sum over ranks too.
        sums = allreduce(sums, op=Sum, process_set=self._process_set)
        features, total = input.shape[1], sums[-1].detach()
        mean = sums[:features] / total
        variance = sums[features : 2 * features] / total - mean * mean
        if self.training and self.track_running_stats:
            self._note(mean.detach(), variance.detach() * (total / (total - 1)))
        shape = [1, features] + [1] * (input.dim() - 2)
        result = (input - mean.view(shape)) * torch.rsqrt(variance.view(shape) + self.eps)
        return result * self.weight.view(shape) + self.bias.view(shape) if self.affine else result

    @torch.no_grad()
    def _note(self, mean, variance):
        self.num_batches_tracked += 1
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.mul_(1 - share).add_(mean, alpha=share)
        self.running_var.mul_(1 - share).add_(variance, alpha=share)
