"""Reduce-scatter of torch tensors."""

import torch

from tutti import _comm
from tutti.horovod.basics import Average, Sum, global_process_set
from tutti.horovod.torch.compression import Compression
from tutti.horovod.torch.movement import allgather_async
from tutti.horovod.torch.ops import Handle, Works, _name, _set_id, by_type, synchronize, view_of


def _shares(rows, process_set):
    """Return the number of rows of each rank in a reduce-scatter."""
    return [rows // process_set.size() + (r < rows % process_set.size()) for r in range(process_set.size())]


def grouped_reducescatter_async(
    tensors,
    name=None,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """Start a reduce-scatter of several tensors in one operation.

    Parameters
    ----------
    tensors : list of torch.Tensor
        Tensors to reduce.
    name, op, process_set, prescale_factor, postscale_factor
        As for `reducescatter`.

    Returns
    -------
    Handle
        Pass it to `synchronize` to get the list of slices.
    """
    identity = _set_id(process_set)
    sources = [tensor.detach().contiguous() for tensor in tensors]
    if op.is_adasum:
        raise NotImplementedError("DDL-4-93 Reduce-scatter does not support Adasum. Use allreduce.")
    if any(source.dim() == 0 for source in sources):
        raise ValueError("DDL-4-93 A scalar tensor cannot be scattered. Pass a tensor with at least one dimension.")
    outputs = [
        torch.empty((_shares(source.shape[0], process_set)[process_set.rank()], *source.shape[1:]), dtype=source.dtype)
        for source in sources
    ]
    full_name, is_cacheable = _name(name, process_set)
    works = [
        _comm.reduce_scatter_async(
            group_name,
            [view_of(sources[i]) for i in members],
            [view_of(outputs[i]) for i in members],
            op.op,
            prescale_factor,
            postscale_factor,
            is_cacheable,
            identity,
        )
        for group_name, members in by_type(full_name, sources)
    ]
    return Handle(Works(works), lambda _: outputs)


def reducescatter_async(
    tensor, name=None, op=Average, process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0
):
    """Start a reduce-scatter.

    Parameters
    ----------
    tensor, name, op, process_set, prescale_factor, postscale_factor
        As for `reducescatter`.

    Returns
    -------
    Handle
        Pass it to `synchronize` to get the slice of this rank.
    """
    group = grouped_reducescatter_async(
        [tensor], name, op, process_set, prescale_factor, postscale_factor
    )
    return Handle(group._work, lambda work: group._finish(work)[0])


class _ReduceScatter(torch.autograd.Function):
    """Differentiable reduce-scatter."""

    @staticmethod
    def forward(ctx, name, op, process_set, prescale, postscale, *tensors):
        ctx.rest = (op, process_set, prescale * postscale)
        return tuple(synchronize(grouped_reducescatter_async(tensors, name, op, process_set, prescale, postscale)))

    @staticmethod
    def backward(ctx, *gradients):
        op, process_set, scale = ctx.rest
        whole = [synchronize(allgather_async(gradient.contiguous(), None, process_set)) * scale for gradient in gradients]
        if op is Sum:
            whole = [gradient * process_set.size() for gradient in whole]
        return (None, None, None, None, None, *whole)


def reducescatter(
    tensor,
    name=None,
    compression=Compression.none,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """Reduce a tensor over all ranks and scatter the rows of the result. Differentiable.

    Parameters
    ----------
    tensor : torch.Tensor
        Tensor with at least one dimension, of the same shape and dtype on all ranks.
    name : str, optional
        Name of the operation.
    compression : Compressor, optional
        One of `Compression`.
    op : ReduceOp, optional
        Reduction operator; not `Adasum`.
    process_set : ProcessSet, optional
        Participating ranks.
    prescale_factor, postscale_factor : float, optional
        Factors applied before and after the reduction.

    Returns
    -------
    torch.Tensor
        The rows of this rank. If the rows do not divide evenly, the first ranks get one more.
    """
    return grouped_reducescatter(
        [tensor], name, compression, op, process_set, prescale_factor, postscale_factor
    )[0]


def grouped_reducescatter(
    tensors,
    name=None,
    compression=Compression.none,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """Reduce-scatter several tensors in one operation. Differentiable.

    Parameters
    ----------
    tensors : list of torch.Tensor
        Tensors to reduce.
    name, compression, op, process_set, prescale_factor, postscale_factor
        As for `reducescatter`.

    Returns
    -------
    list of torch.Tensor
        The slices of this rank.
    """
    packed = [compression.compress(tensor) for tensor in tensors]
    parts = _ReduceScatter.apply(name, op, process_set, prescale_factor, postscale_factor, *[t for t, _ in packed])
    return [compression.decompress(part, ctx) for part, (_, ctx) in zip(parts, packed)]
