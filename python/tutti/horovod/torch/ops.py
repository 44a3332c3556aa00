"""Collectives of torch tensors in host memory: by name, in any order, in the background."""

import collections
import ctypes
import itertools

import torch

from tutti import _comm
from tutti.horovod import basics
from tutti.horovod.basics import Average, Sum, global_process_set
from tutti.horovod.exceptions import as_horovod
from tutti.horovod.torch.compression import Compression

_TYPES = {
    torch.float32: 0,
    torch.float64: 1,
    torch.float16: 2,
    torch.bfloat16: 3,
    torch.int8: 4,
    torch.uint8: 5,
    torch.int32: 6,
    torch.int64: 7,
}
# Types that are reduced as a wider one.
_WIDER = {torch.int16: torch.int32, torch.bool: torch.uint8}
# By process set: the next tensor without a name, and how often its ranks have begun to count anew.
_numbers = collections.defaultdict(itertools.count)
_beginnings = collections.Counter()


class Handle:
    """A collective under way."""

    def __init__(self, work, finish):
        self._work, self._finish = work, finish
        self._result, self._is_done = None, False

    def is_complete(self):
        return self._is_done or self._work.is_complete()

    def result(self):
        if not self._is_done:
            with as_horovod():
                self._work.wait()
            self._result, self._is_done = self._finish(self._work), True
            self._finish = None
        return self._result


def poll(handle):
    """Whether `synchronize` would return at once."""
    return handle.is_complete()


def synchronize(handle):
    """Waits for the collective; gives its result."""
    return handle.result()


def view_of(tensor):
    """The memory of a contiguous tensor, for the library."""
    if tensor.device.type != "cpu":
        raise ValueError(f"DDL-4-81 The tensor is on {tensor.device}; only tensors in host memory are taken. Use tensor.cpu().")
    code = _TYPES.get(tensor.dtype, -tensor.element_size())
    return (tensor.data_ptr(), tensor.shape, code, tensor)


def tensor_at(address, shape, dtype, owner):
    """A tensor of memory that belongs to `owner`, which lives as long."""
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    size = torch.empty(0, dtype=dtype).element_size()
    memory = (ctypes.c_byte * (count * size)).from_address(address)
    memory.owner = owner
    return torch.frombuffer(memory, dtype=dtype, count=count).view(shape)


def _name(name, process_set):
    """(name, whether it will come again): ranks that make the same calls count alike.

    Not the call's kind: ranks that use one name for different calls must meet, to be told.
    """
    if name is not None:
        return name, True
    identity = process_set.process_set_id
    return f"noname.{_beginnings[identity]}.{next(_numbers[identity])}", False


def _count_anew(process_set):
    """For all ranks at one point of their programs, where those before may have made different numbers of calls."""
    _beginnings[process_set.process_set_id] += 1
    _numbers.pop(process_set.process_set_id, None)


def _set_id(process_set):
    basics._running()
    identity = process_set._id()
    if process_set.ranks is not None and basics.rank() not in process_set.ranks:
        raise ValueError(f"DDL-4-85 Rank {basics.rank()} is not in {process_set}; only its ranks may call.")
    return identity


def _chosen(op, average):
    if op is not None and average is not None:
        raise ValueError("DDL-4-90 Give op or average, not both; average is the old way.")
    return op if op is not None else Sum if average is False else Average


def _contiguous(tensor):
    if not tensor.is_contiguous():
        raise ValueError("DDL-4-80 Tensor is required to be contiguous.")
    return tensor


def by_type(full_name, tensors):
    """(name, numbers of the tensors) of each type, as only tensors of one type go together. The name does not say the type: ranks
    with different types under one name are told so."""
    groups = {}
    for i, tensor in enumerate(tensors):
        groups.setdefault(tensor.dtype, []).append(i)
    return [(f"{full_name}.{n}" if n else full_name, members) for n, members in enumerate(groups.values())]


def _reduce(tensors, outputs, name, op, prescale, postscale, process_set, codec="none"):
    """Reduces lists of tensors as one group for each type; gives the collectives."""
    identity = _set_id(process_set)
    full_name, is_kept = _name(name, process_set)
    for group_name, members in by_type(full_name, tensors):
        use_codec = codec if tensors[members[0]].dtype == torch.float32 and op in (Average, Sum) else "none"
        yield _comm.all_reduce_async(
            group_name,
            [view_of(tensors[i]) for i in members],
            [view_of(outputs[i]) for i in members],
            op=op.op,
            adasum=op.is_adasum,
            prescale=prescale,
            postscale=postscale,
            compression=use_codec,
            is_kept=is_kept,
            process_set=identity,
        )


class Works:
    """Several collectives, as one."""

    def __init__(self, works):
        self._works = list(works)

    def is_complete(self):
        return all(work.is_complete() for work in self._works)

    def wait(self):
        for work in self._works:
            work.wait()


def _all_reduce_async(tensors, outputs, name, op, prescale, postscale, process_set, codec="none"):
    """`outputs` get the results; they may be `tensors`."""
    sources = [_contiguous(tensor.detach()) for tensor in tensors]
    targets = [_contiguous(output.detach()) for output in outputs]
    for i, tensor in enumerate(sources):
        if tensor.dtype in _WIDER:
            sources[i] = targets[i] = tensor.to(_WIDER[tensor.dtype])
    works = list(_reduce(sources, targets, name, op, prescale, postscale, process_set, codec))

    def finish(_):
        for output, target in zip(outputs, targets):
            if output.dtype != target.dtype:
                output.detach().copy_(target)
        return outputs

    return Handle(Works(works), finish)


def _one_async(tensor, output, name, op, prescale, postscale, process_set):
    """The short way for one tensor."""
    if tensor.dtype not in _TYPES:
        return _first(_all_reduce_async([tensor], [output], name, op, prescale, postscale, process_set))
    full_name, is_kept = _name(name, process_set)
    source = [view_of(_contiguous(tensor))]
    target = source if output is tensor else [view_of(output)]
    identity = _set_id(process_set)
    work = _comm.all_reduce_async(
        full_name, source, target, op.op, op.is_adasum, prescale, postscale, "none", 0, is_kept, identity
    )
    return Handle(work, lambda _: output)


def _first(handle):
    """The handle of a group of one, as a handle of its tensor."""
    return Handle(handle._work, lambda work: handle._finish(work)[0])


def allreduce_async(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Starts the reduction of `tensor`, which stays as it is; the result is a new tensor."""
    source = tensor.contiguous()
    output = torch.empty_like(source, requires_grad=False)
    op = _chosen(op, average)
    return _one_async(source, output, name, op, prescale_factor, postscale_factor, process_set)


def allreduce_async_(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Starts the reduction of `tensor` in place."""
    op = _chosen(op, average)
    return _one_async(tensor, tensor, name, op, prescale_factor, postscale_factor, process_set)


def allreduce_(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Reduces `tensor` in place."""
    return synchronize(allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor, process_set))


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, op, prescale, postscale, process_set, codec, *tensors):
        ctx.rest = (op, prescale, postscale, process_set, codec)
        sources = [tensor.contiguous() for tensor in tensors]
        outputs = [torch.empty_like(source, requires_grad=False) for source in sources]
        handle = _all_reduce_async(sources, outputs, name, op, prescale, postscale, process_set, codec)
        return tuple(synchronize(handle))

    @staticmethod
    def backward(ctx, *gradients):
        op, prescale, postscale, process_set, codec = ctx.rest
        reduced = _AllReduce.apply(None, op, prescale, postscale, process_set, codec, *gradients)
        return (None, None, None, None, None, None, *reduced)


def allreduce(
    tensor,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """The reduction of `tensor` over all ranks, a new tensor; gradients flow through it."""
    return grouped_allreduce([tensor], average, name, compression, op, prescale_factor, postscale_factor, process_set)[0]


def grouped_allreduce(
    tensors,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """The same for several tensors, which go together."""
    op = _chosen(op, average)
    codec = getattr(compression, "codec", "none")
    if codec != "none" and all(tensor.dtype == torch.float32 for tensor in tensors) and op in (Average, Sum):
        return list(_AllReduce.apply(name, op, prescale_factor, postscale_factor, process_set, codec, *tensors))
    packed = [compression.compress(tensor) for tensor in tensors]
    reduced = _AllReduce.apply(name, op, prescale_factor, postscale_factor, process_set, "none", *[t for t, _ in packed])
    return [compression.decompress(tensor, ctx) for tensor, (_, ctx) in zip(reduced, packed)]


def grouped_allreduce_async(
    tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Starts the reduction of several tensors, which go together; the results are new tensors."""
    sources = [tensor.contiguous() for tensor in tensors]
    outputs = [torch.empty_like(source, requires_grad=False) for source in sources]
    op = _chosen(op, average)
    return _all_reduce_async(
        sources, outputs, name, op, prescale_factor, postscale_factor, process_set
    )


def grouped_allreduce_async_(
    tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """The same in place."""
    op = _chosen(op, average)
    tensors = list(tensors)
    return _all_reduce_async(
        tensors, tensors, name, op, prescale_factor, postscale_factor, process_set
    )


def grouped_allreduce_(
    tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Reduces several tensors in place."""
    return synchronize(
        grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor, process_set)
    )
