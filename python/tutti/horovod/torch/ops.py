"""All-reduce of torch tensors in host memory, and the handles of asynchronous collectives."""

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
# Types that are converted to a wider one for the reduction.
_WIDER = {torch.int16: torch.int32, torch.bool: torch.uint8}
# By process set: the number of the next unnamed operation, and how often the numbering was restarted.
_numbers = collections.defaultdict(itertools.count)
_beginnings = collections.Counter()


class Handle:
    """Handle of an asynchronous collective. Pass it to `poll` or `synchronize`."""

    def __init__(self, work, finish):
        self._work, self._finish = work, finish
        self._result, self._is_done = None, False

    def is_complete(self):
        """Return whether the collective has completed."""
        return self._is_done or self._work.is_complete()

    def result(self):
        """Wait for the collective and return its result."""
        if not self._is_done:
            with as_horovod():
                self._work.wait()
            self._result, self._is_done = self._finish(self._work), True
            self._finish = None
        return self._result


def poll(handle):
    """Return whether the collective has completed, so that `synchronize` does not block.

    Parameters
    ----------
    handle : Handle
        Handle from an asynchronous collective.

    Returns
    -------
    bool
        True if the collective has completed.
    """
    return handle.is_complete()


def synchronize(handle):
    """Wait for an asynchronous collective and return its result.

    Parameters
    ----------
    handle : Handle
        Handle from an asynchronous collective.

    Returns
    -------
    torch.Tensor or list of torch.Tensor
        The result of the collective.

    Raises
    ------
    HorovodInternalError
        If the collective failed.
    """
    return handle.result()


def view_of(tensor):
    """Return (address, shape, dtype code, owner) of a contiguous tensor in host memory."""
    if tensor.device.type != "cpu":
        raise ValueError(f"DDL-4-81 The tensor is on {tensor.device}, not in host memory. Use tensor.cpu().")
    code = _TYPES.get(tensor.dtype, -tensor.element_size())
    return (tensor.data_ptr(), tensor.shape, code, tensor)


def tensor_at(address, shape, dtype, owner):
    """Return a tensor over memory of `owner`, and keep `owner` alive."""
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
    """Return (name of the operation, whether it will be used again). Unnamed operations are numbered.

    The name does not contain the kind of operation, because mismatched calls must be matched to be detected.
    """
    if name is not None:
        return name, True
    identity = process_set.process_set_id
    return f"noname.{_beginnings[identity]}.{next(_numbers[identity])}", False


def _restart_numbering(process_set):
    """Restart the numbering of unnamed operations on all ranks, after they may have issued different numbers of calls.
    """
    _beginnings[process_set.process_set_id] += 1
    _numbers.pop(process_set.process_set_id, None)


def _set_id(process_set):
    """Return the id of a process set; raise ValueError if this rank is not a member."""
    basics._require_running()
    identity = process_set._id()
    if process_set.ranks is not None and basics.rank() not in process_set.ranks:
        raise ValueError(f"DDL-4-85 Rank {basics.rank()} is not in {process_set}. Call the collective only on its ranks.")
    return identity


def _chosen(op, average):
    """Return the reduction operator for the arguments `op` and `average`."""
    if op is not None and average is not None:
        raise ValueError("DDL-4-90 Both op and average are set. Pass only op; average is deprecated.")
    return op if op is not None else Sum if average is False else Average


def _contiguous(tensor):
    """Return the tensor; raise ValueError if it is not contiguous."""
    if not tensor.is_contiguous():
        raise ValueError("DDL-4-80 Tensor is required to be contiguous.")
    return tensor


def by_type(full_name, tensors):
    """Group tensors by dtype: return (name of the group, indices of its members).

    The name does not contain the dtype, so ranks with different dtypes still match and the mismatch is detected.
    """
    groups = {}
    for i, tensor in enumerate(tensors):
        groups.setdefault(tensor.dtype, []).append(i)
    return [(f"{full_name}.{n}" if n else full_name, members) for n, members in enumerate(groups.values())]


def _reduce(tensors, outputs, name, op, prescale, postscale, process_set, codec="none"):
    """Start one all-reduce per dtype; yield the operations."""
    identity = _set_id(process_set)
    full_name, is_cacheable = _name(name, process_set)
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
            is_cacheable=is_cacheable,
            process_set=identity,
        )


class Works:
    """Several collectives as one."""

    def __init__(self, works):
        self._works = list(works)

    def is_complete(self):
        """Return whether all collectives have completed."""
        return all(work.is_complete() for work in self._works)

    def wait(self):
        """Wait for all collectives."""
        for work in self._works:
            work.wait()


def _all_reduce_async(tensors, outputs, name, op, prescale, postscale, process_set, codec="none"):
    """Start an all-reduce of `tensors` into `outputs`, which may be the same tensors."""
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
    """Fast path of `_all_reduce_async` for one tensor."""
    if tensor.dtype not in _TYPES:
        return _first(_all_reduce_async([tensor], [output], name, op, prescale, postscale, process_set))
    full_name, is_cacheable = _name(name, process_set)
    source = [view_of(_contiguous(tensor))]
    target = source if output is tensor else [view_of(output)]
    identity = _set_id(process_set)
    work = _comm.all_reduce_async(
        full_name, source, target, op.op, op.is_adasum, prescale, postscale, "none", 0, is_cacheable, identity
    )
    return Handle(work, lambda _: output)


def _first(handle):
    """Convert the handle of a group with one tensor to a handle of that tensor."""
    return Handle(handle._work, lambda work: handle._finish(work)[0])


def allreduce_async(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Start an all-reduce to a new tensor.

    Parameters
    ----------
    tensor, average, name, op, prescale_factor, postscale_factor, process_set
        As for `allreduce`.

    Returns
    -------
    Handle
        Pass it to `synchronize` to get the new tensor.

    Examples
    --------
    >>> import torch, tutti.horovod.torch as hvd
    >>> hvd.init()
    >>> handle = hvd.allreduce_async(torch.ones(2), name="gradient")
    >>> hvd.synchronize(handle)
    tensor([1., 1.])
    """
    source = tensor.contiguous()
    output = torch.empty_like(source, requires_grad=False)
    op = _chosen(op, average)
    return _one_async(source, output, name, op, prescale_factor, postscale_factor, process_set)


def allreduce_async_(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Start an all-reduce in place.

    Parameters
    ----------
    tensor, average, name, op, prescale_factor, postscale_factor, process_set
        As for `allreduce`. The tensor must be contiguous.

    Returns
    -------
    Handle
        Pass it to `synchronize` to wait for the reduction.
    """
    op = _chosen(op, average)
    return _one_async(tensor, tensor, name, op, prescale_factor, postscale_factor, process_set)


def allreduce_(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Reduce a tensor over all ranks, in place.

    Parameters
    ----------
    tensor, average, name, op, prescale_factor, postscale_factor, process_set
        As for `allreduce`. The tensor must be contiguous.

    Returns
    -------
    torch.Tensor
        `tensor`, with the result.
    """
    return synchronize(allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor, process_set))


class _AllReduce(torch.autograd.Function):
    """Differentiable all-reduce."""

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
    """Reduce a tensor over all ranks. Differentiable.

    Parameters
    ----------
    tensor : torch.Tensor
        Tensor of the same shape and dtype on all ranks. It is not modified.
    average : bool, optional
        Deprecated: use `op`. False selects `Sum`.
    name : str, optional
        Name of the operation. Ranks may issue named operations in different orders.
    compression : Compressor, optional
        One of `Compression`.
    op : ReduceOp, optional
        Reduction operator; `Average` by default.
    prescale_factor, postscale_factor : float, optional
        Factors applied before and after the reduction.
    process_set : ProcessSet, optional
        Participating ranks.

    Returns
    -------
    torch.Tensor
        A new tensor with the result.

    Raises
    ------
    ValueError
        If both `op` and `average` are given, the tensor is not in host memory, or this rank is not in the process set.
    HorovodInternalError
        If the ranks disagree on shape, dtype or operator, or a rank has failed.

    Examples
    --------
    >>> import torch, tutti.horovod.torch as hvd
    >>> hvd.init()
    >>> hvd.allreduce(torch.tensor([1.0, 2.0]), op=hvd.Sum)
    tensor([1., 2.])
    """
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
    """Reduce several tensors in one operation per dtype. Differentiable.

    Parameters
    ----------
    tensors : list of torch.Tensor
        Tensors to reduce.
    average, name, compression, op, prescale_factor, postscale_factor, process_set
        As for `allreduce`.

    Returns
    -------
    list of torch.Tensor
        New tensors with the results.
    """
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
    """Start an all-reduce of several tensors to new tensors.

    Parameters
    ----------
    tensors, average, name, op, prescale_factor, postscale_factor, process_set
        As for `grouped_allreduce`.

    Returns
    -------
    Handle
        Pass it to `synchronize` to get the list of new tensors.
    """
    sources = [tensor.contiguous() for tensor in tensors]
    outputs = [torch.empty_like(source, requires_grad=False) for source in sources]
    op = _chosen(op, average)
    return _all_reduce_async(
        sources, outputs, name, op, prescale_factor, postscale_factor, process_set
    )


def grouped_allreduce_async_(
    tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Start an all-reduce of several tensors in place.

    Parameters
    ----------
    tensors, average, name, op, prescale_factor, postscale_factor, process_set
        As for `grouped_allreduce`. The tensors must be contiguous.

    Returns
    -------
    Handle
        Pass it to `synchronize` to wait for the reduction.
    """
    op = _chosen(op, average)
    tensors = list(tensors)
    return _all_reduce_async(
        tensors, tensors, name, op, prescale_factor, postscale_factor, process_set
    )


def grouped_allreduce_(
    tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set
):
    """Reduce several tensors in place.

    Parameters
    ----------
    tensors, average, name, op, prescale_factor, postscale_factor, process_set
        As for `grouped_allreduce`. The tensors must be contiguous.

    Returns
    -------
    list of torch.Tensor
        `tensors`, with the results.
    """
    return synchronize(
        grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor, process_set)
    )
