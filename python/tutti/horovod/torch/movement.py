"""Collectives of torch tensors that move or share out: all-gather, broadcast, all-to-all, reduce-scatter, barrier, join."""

import operator

import torch

from tutti import _comm
from tutti.horovod import basics
from tutti.horovod.basics import Average, Sum, global_process_set
from tutti.horovod.exceptions import as_horovod
from tutti.horovod.torch.compression import Compression
from tutti.horovod.torch.ops import (
    Handle,
    Works,
    _contiguous,
    _count_anew,
    _name,
    _set_id,
    allreduce,
    by_type,
    synchronize,
    tensor_at,
    view_of,
)


def _received(work, tensors):
    """What came, as tensors like those given but for the first dimension; and the rows from each rank."""
    for tensor, (rows, address, owner) in zip(tensors, work.gathered()):
        yield tensor_at(address, (sum(rows), *tensor.shape[1:]), tensor.dtype, owner), rows


def grouped_allgather_async(tensors, name=None, process_set=global_process_set):
    """Starts the gathering of several tensors, which go together."""
    sources = [tensor.detach().contiguous() for tensor in tensors]
    identity = _set_id(process_set)
    full_name, is_kept = _name(name, process_set)
    groups = by_type(full_name, sources)
    works = [
        _comm.all_gather_async(group_name, [view_of(sources[i]) for i in members], is_kept=is_kept, process_set=identity)
        for group_name, members in groups
    ]

    def finish(_):
        results = [None] * len(sources)
        for work, (_, members) in zip(works, groups):
            for i, (tensor, _) in zip(members, _received(work, [sources[i] for i in members])):
                results[i] = tensor if sources[i].dim() else tensor.view(-1)
        return results

    return Handle(Works(works), finish)


def allgather_async(tensor, name=None, process_set=global_process_set):
    """Starts the gathering of `tensor`, whose first dimension may differ between ranks."""
    group = grouped_allgather_async([tensor], name, process_set)
    return Handle(group._work, lambda work: group._finish(work)[0])


def sparse_allreduce_async(tensor, name, op, process_set=global_process_set):
    """Starts the reduction of a sparse tensor: all ranks get the indices and values of all. The handle is to be called."""
    sparse = tensor.coalesce()
    indices = allgather_async(sparse.indices().t().contiguous(), f"{name}.indices", process_set)
    values = allgather_async(sparse.values(), f"{name}.values", process_set)

    def finish():
        all_values = synchronize(values)
        if op is Average:
            all_values = all_values / process_set.size()
        return torch.sparse_coo_tensor(synchronize(indices).t(), all_values, tensor.size()).coalesce()

    return finish


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, process_set, *tensors):
        ctx.process_set = process_set
        ctx.rows = [tensor.shape[0] if tensor.dim() else 1 for tensor in tensors]
        return tuple(synchronize(grouped_allgather_async(tensors, name, process_set)))

    @staticmethod
    def backward(ctx, *gradients):
        process_set = ctx.process_set
        rows = synchronize(allgather_async(torch.tensor([ctx.rows]), None, process_set))
        first = rows[: process_set.rank()].sum(0).tolist()
        parts = []
        for t, gradient in enumerate(gradients):
            whole = allreduce(gradient.contiguous(), op=Average, process_set=process_set)
            parts.append(whole.narrow(0, first[t], ctx.rows[t]))
        return (None, None, *parts)


def allgather(tensor, name=None, process_set=global_process_set):
    """The tensors of all ranks, one behind the other along the first dimension; gradients flow through it."""
    return _AllGather.apply(name, process_set, tensor)[0]


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    """The same for several tensors, which go together."""
    return list(_AllGather.apply(name, process_set, *tensors))


def _set_root(root_rank, process_set):
    """The root is named by its number in the job."""
    if process_set.ranks is None or root_rank not in process_set.ranks:
        raise ValueError(f"DDL-4-91 Rank {root_rank} cannot be the root: it is not one of {process_set.ranks}.")
    return process_set.ranks.index(root_rank)


def _broadcast_async(tensor, output, root_rank, name, process_set):
    identity = _set_id(process_set)
    full_name, is_kept = _name(name, process_set)
    source, target = _contiguous(tensor.detach()), _contiguous(output.detach())
    work = _comm.broadcast_async(
        full_name, view_of(source), view_of(target), _set_root(root_rank, process_set), is_kept, identity
    )
    return Handle(work, lambda _: output)


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    """Starts sending the tensor of rank `root_rank` to all; the result is a new tensor."""
    source = tensor.contiguous()
    return _broadcast_async(source, torch.empty_like(source, requires_grad=False), root_rank, name, process_set)


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    """The same in place."""
    return _broadcast_async(tensor, tensor, root_rank, name, process_set)


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    """Gives `tensor` the values that rank `root_rank` has."""
    return synchronize(broadcast_async_(tensor, root_rank, name, process_set))


class _Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        ctx.rest = (root_rank, process_set)
        return synchronize(broadcast_async(tensor, root_rank, name, process_set))

    @staticmethod
    def backward(ctx, gradient):
        root_rank, process_set = ctx.rest
        whole = allreduce(gradient.contiguous(), op=Average, process_set=process_set)
        return (whole if basics.rank() == root_rank else torch.zeros_like(whole)), None, None, None


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """The tensor of rank `root_rank`, a new one; gradients flow through it."""
    return _Broadcast.apply(tensor, root_rank, name, process_set)


def _split_rows(splits, rows, process_set):
    """How many rows go to each rank."""
    if splits is None:
        share, rest = divmod(rows, process_set.size())
        if rest:
            raise ValueError(f"DDL-4-92 {rows} rows do not divide over {process_set.size()} ranks: give splits.")
        return [share] * process_set.size()
    try:
        return [operator.index(n) for n in (splits.tolist() if torch.is_tensor(splits) else splits)]
    except TypeError as error:
        raise ValueError(f"DDL-4-92 splits are whole numbers of rows, not {splits!r}.") from error


def alltoall_async(tensor, splits=None, name=None, process_set=global_process_set):
    """Starts sending `splits[r]` rows of `tensor` to each rank r; equal parts without splits."""
    identity = _set_id(process_set)
    source = tensor.detach().contiguous()
    counts = _split_rows(splits, source.shape[0], process_set)
    full_name, is_kept = _name(name, process_set)
    work = _comm.all_to_all_async(full_name, view_of(source), counts, is_kept, identity)

    def finish(done):
        output, rows = next(_received(done, [source]))
        return output if splits is None else (output, torch.tensor(rows, dtype=torch.int32))

    return Handle(work, finish)


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        _set_id(process_set)
        counts = _split_rows(splits, tensor.shape[0], process_set)
        output, received = synchronize(alltoall_async(tensor, counts, name, process_set))
        ctx.rest = (received, process_set)
        ctx.mark_non_differentiable(received)
        return output, received

    @staticmethod
    def backward(ctx, gradient, _):
        received, process_set = ctx.rest
        back, _ = synchronize(alltoall_async(gradient.contiguous(), received, None, process_set))
        return back, None, None, None


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    """The rows that all ranks sent to this one; with splits also how many each sent. Gradients flow through it."""
    output, received = _AllToAll.apply(tensor, splits, name, process_set)
    return output if splits is None else (output, received)


def _shares(rows, process_set):
    return [rows // process_set.size() + (r < rows % process_set.size()) for r in range(process_set.size())]


def grouped_reducescatter_async(
    tensors,
    name=None,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """Starts the reduction of several tensors, of which each rank gets its share of the rows."""
    identity = _set_id(process_set)
    sources = [tensor.detach().contiguous() for tensor in tensors]
    if op.is_adasum:
        raise NotImplementedError("DDL-4-93 There is no reduce-scatter by Adasum: use allreduce.")
    if any(source.dim() == 0 for source in sources):
        raise ValueError("DDL-4-93 A tensor without dimensions has no rows that could be shared out.")
    outputs = [
        torch.empty((_shares(source.shape[0], process_set)[process_set.rank()], *source.shape[1:]), dtype=source.dtype)
        for source in sources
    ]
    full_name, is_kept = _name(name, process_set)
    works = [
        _comm.reduce_scatter_async(
            group_name,
            [view_of(sources[i]) for i in members],
            [view_of(outputs[i]) for i in members],
            op.op,
            prescale_factor,
            postscale_factor,
            is_kept,
            identity,
        )
        for group_name, members in by_type(full_name, sources)
    ]
    return Handle(Works(works), lambda _: outputs)


def reducescatter_async(
    tensor, name=None, op=Average, process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0
):
    """Starts the reduction of `tensor`, of which each rank gets its share of the rows."""
    group = grouped_reducescatter_async(
        [tensor], name, op, process_set, prescale_factor, postscale_factor
    )
    return Handle(group._work, lambda work: group._finish(work)[0])


class _ReduceScatter(torch.autograd.Function):
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
    """This rank's share of the rows of the reduction; the first ranks have one more. Gradients flow through it."""
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
    """The same for several tensors, which go together."""
    packed = [compression.compress(tensor) for tensor in tensors]
    parts = _ReduceScatter.apply(name, op, process_set, prescale_factor, postscale_factor, *[t for t, _ in packed])
    return [compression.decompress(part, ctx) for part, (_, ctx) in zip(parts, packed)]


def barrier(process_set=global_process_set):
    """Waits until all ranks of the set are here."""
    identity = _set_id(process_set)
    with as_horovod():
        _comm.barrier_async(_name(None, process_set)[0], identity).wait()


def join(device=-1):
    """This rank has no more data: it brings zeros to the reductions of others until all have joined. Gives the rank that was last."""
    basics._running()
    handle = _comm.join_async()
    with as_horovod():
        handle.wait()
    _count_anew(global_process_set)
    return handle.last_joined()
