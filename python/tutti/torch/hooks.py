"""Communication hooks for DistributedDataParallel on the backend `ddl`.

    model = DistributedDataParallel(model)
    model.register_comm_hook(None, tutti.torch.hooks.shared_memory_hook)

The state is the process group, or None for the default one. Without any hook, buckets are moved to library memory by themselves;
what a hook adds is said by each.
"""

import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

from tutti import _torch
from tutti.torch import _backend_of

__all__ = ["bf16_hook", "bf16_wire_hook", "int8_wire_hook", "shared_memory_hook", "step_hook", "wire_hook"]


def shared_memory_hook(state, bucket):
    """Averages the bucket in library memory; the division is part of the reduction.

    Worth it with `gradient_as_bucket_view=True`, where DDP would divide in a pass of its own, and as the inner hook of others.
    """
    return _average(state, bucket, "none")


def bf16_hook(state, bucket):
    """torch's bf16_compress_hook, which torch 1.13 itself lets through for CUDA only."""
    return default_hooks.bf16_compress_hook(state, bucket)


def wire_hook(form):
    """A hook that averages, and shortens what float32 buckets send between hosts: "bf16", "f16", "int8", "topk:0.01".

    Unlike torch's fp16 and bf16 hooks it leaves everything inside a host exact and in place. What int8 and topk do not send is kept,
    by the bucket's number, and goes with the next step.
    """
    _torch.check_form(form)

    def hook(state, bucket):
        return _average(state, bucket, form)

    hook.__annotations__ = {}
    return hook


def step_hook(make_optimizer, form="none"):
    """A hook that averages, and updates the parameters of a bucket as soon as it is reduced, while others still compute gradients.

    make_optimizer: called for each parameter, `lambda parameters: torch.optim.SGD(parameters, 0.1)`. Updates are those of one
    optimizer for all, for every optimizer that treats parameters one by one. The program makes no step of its own.
    """
    _torch.check_form(form)
    optimizers = {}

    def hook(state, bucket):
        parameters, gradients = bucket.parameters(), bucket.gradients()

        def step(future):
            for parameter, gradient in zip(parameters, gradients):
                if parameter not in optimizers:
                    optimizers[parameter] = make_optimizer([parameter])
                before, parameter.grad = parameter.grad, gradient
                optimizers[parameter].step()
                parameter.grad = before
            return future.value()

        return _average(state, bucket, form).then(step)

    hook.__annotations__ = {}
    return hook


bf16_wire_hook = wire_hook("bf16")
int8_wire_hook = wire_hook("int8")


def _average(state, bucket, form):
    buffer = bucket.buffer()
    _torch.share(buffer)
    group = _backend_of(state or dist.group.WORLD)
    work = _torch.average(group, buffer, f"bucket {bucket.index()}", form)
    return work.get_future().then(_first)


def _first(future):
    return future.value()[0]
