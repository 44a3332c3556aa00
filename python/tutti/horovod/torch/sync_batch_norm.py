"""Batch normalisation with statistics over all ranks."""

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from tutti.horovod.basics import Sum, global_process_set
from tutti.horovod.torch.movement import allgather_async
from tutti.horovod.torch.ops import allreduce_, synchronize


class _Normalized(torch.autograd.Function):
    """Differentiable normalisation: returns (normalised input, mean, variance, number of values) over all ranks."""

    @staticmethod
    def forward(ctx, batch, eps, process_set):
        over, shape = [0, *range(2, batch.dim())], [1, -1] + [1] * (batch.dim() - 2)
        count = batch.numel() // batch.shape[1]
        mean = batch.sum(over) / max(count, 1)
        # Squared deviations from the local mean: sums of squares would cancel if the mean is large.
        squares = ((batch - mean.view(shape)) ** 2).sum(over)
        mine = torch.cat([mean, squares, mean.new_tensor([count])]).view(1, -1)
        means, all_squares, counts = synchronize(allgather_async(mine, None, process_set)).split([len(mean), len(mean), 1], 1)
        total = counts.sum()
        mean = (means * counts).sum(0) / total
        variance = (all_squares + counts * (means - mean) ** 2).sum(0) / total
        scale = torch.rsqrt(variance + eps)
        result = (batch - mean.view(shape)) * scale.view(shape)
        ctx.save_for_backward(result, scale, total)
        ctx.rest = (over, shape, process_set)
        ctx.mark_non_differentiable(mean, variance, total)
        return result, mean, variance, total

    @staticmethod
    def backward(ctx, gradient, *_):
        result, scale, total = ctx.saved_tensors
        over, shape, process_set = ctx.rest
        sums = torch.stack([gradient.sum(over), (gradient * result).sum(over)])
        along_one, along_result = (allreduce_(sums, op=Sum, process_set=process_set) / total).unbind()
        # Project out the directions that change the global mean or variance.
        return (gradient - along_one.view(shape) - result * along_result.view(shape)) * scale.view(shape), None, None


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation with mean and variance over the batches of all ranks, which may differ in size.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats
        As for `torch.nn.BatchNorm2d`.
    process_set : ProcessSet, optional
        Ranks whose batches are normalised together.
    """

    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_set=global_process_set
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self._process_set = process_set

    def _check_input_dim(self, input):  # noqa: A002  torch's name
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input):  # noqa: A002  torch's name
        """Normalise `input` over the batches of all ranks in training, with the running statistics in evaluation."""
        self._check_input_dim(input)
        uses_batch = self.training or self.running_mean is None
        if not uses_batch or self._process_set.size() == 1:
            return super().forward(input)
        result, mean, variance, total = _Normalized.apply(input, self.eps, self._process_set)
        if self.training and self.track_running_stats:
            self._note(mean, variance * (total / (total - 1)))
        shape = [1, -1] + [1] * (input.dim() - 2)
        return result * self.weight.view(shape) + self.bias.view(shape) if self.affine else result

    @torch.no_grad()
    def _note(self, mean, variance):
        """Update the running statistics."""
        self.num_batches_tracked += 1
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.mul_(1 - share).add_(mean, alpha=share)
        self.running_var.mul_(1 - share).add_(variance, alpha=share)
