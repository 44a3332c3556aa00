"""Communication hooks for DistributedDataParallel on the backend `ddl`.

    model = DistributedDataParallel(model)
    model.register_comm_hook(None, tutti.torch.hooks.shared_memory_hook)

The state of every hook is the process group; None selects the default group. Without a hook the backend already moves
buckets to library-allocated memory.
"""

import torch.distributed as dist

from tutti import _torch
from tutti.torch import compat

__all__ = ["bf16_hook", "bf16_wire_hook", "int8_wire_hook", "shared_memory_hook", "step_hook", "wire_hook"]


def shared_memory_hook(state, bucket):
    """Average a bucket in library-allocated memory, with the division fused into the reduction.

    Useful with `gradient_as_bucket_view=True`, for which DDP would divide in a separate pass, and as the inner hook of
    other hooks.

    Parameters
    ----------
    state : torch.distributed.ProcessGroup or None
        Process group.
    bucket : torch.distributed.GradBucket
        Gradients to average.

    Returns
    -------
    torch.futures.Future
        Future of the averaged bucket.
    """
    return _average(state, bucket, "none")


def bf16_hook(state, bucket):
    """Average a bucket in bfloat16: torch's `bf16_compress_hook`, which torch 1.13 restricts to CUDA.

    Parameters
    ----------
    state, bucket
        As for `shared_memory_hook`.

    Returns
    -------
    torch.futures.Future
        Future of the averaged bucket.
    """
    # Not imported at the top: with Python 3.13, importing it prints ten warnings in torch 2.6.
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    return default_hooks.bf16_compress_hook(state, bucket)


def wire_hook(form):
    """Create a hook that averages buckets and compresses the float32 data sent between hosts.

    Unlike the fp16 and bf16 hooks of torch, reduction within a host is exact and in place. "int8" and "topk" use error
    feedback: the data that is not sent is stored per bucket and added to the next step.

    Parameters
    ----------
    form : str
        "bf16", "f16", "int8" or "topk:0.01".

    Returns
    -------
    callable
        The hook.
    """
    _torch.check_form(form)

    def hook(state, bucket):
        return _average(state, bucket, form)

    hook.__annotations__ = {}
    return hook


def step_hook(make_optimizer, form="none"):
    """Create a hook that averages buckets and updates their parameters as soon as they are reduced.

    Updates overlap with the rest of the backward pass. The program must not call `step` itself. The result is that of
    one optimizer over all parameters, for optimizers that treat parameters independently.

    Parameters
    ----------
    make_optimizer : callable
        Called for each parameter, for example `lambda parameters: torch.optim.SGD(parameters, 0.1)`.
    form : str, optional
        Compression between hosts, as for `wire_hook`.

    Returns
    -------
    callable
        The hook.
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
    group = compat.backend_of(state or dist.group.WORLD)
    work = _torch.average(group, buffer, f"bucket {bucket.index()}", form)
    return work.get_future().then(_first)


def _first(future):
    return future.value()[0]
