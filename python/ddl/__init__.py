"""DDL: collectives over the ranks of a job, under the names that users of DDL know.

    import ddl
    ddl.init()
    weights = ddl.bcast(weights)                  # as rank 0 has them
    gradients = ddl.grads_reduce(gradients)       # the averages

Arrays are NumPy's, torch tensors in host memory, or anything with the buffer protocol or DLPack. Importing it also makes the
backend `ddl` known to torch.distributed, at once when torch is there, else as soon as the program imports it.
"""

from ddl import _torch
from tutti import _comm, arrays, job
from tutti.job import Error  # noqa: F401

__all__ = [
    "DDLCallback",
    "DDLGlobalVariableHook",
    "DDLGlobalVariablesCallback",
    "DDLGlobalVariablesHook",
    "Error",
    "allgather",
    "allreduce",
    "allreduce_n",
    "barrier",
    "bcast",
    "finalize",
    "grads_reduce",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "num_hosts",
    "rank",
    "size",
]

_OPS = {
    "sum": _comm.ReduceOp.sum,
    "avg": _comm.ReduceOp.average,
    "average": _comm.ReduceOp.average,
    "min": _comm.ReduceOp.min,
    "max": _comm.ReduceOp.max,
    "product": _comm.ReduceOp.product,
}


def init(options=""):
    """Joins the job; all ranks call it. `options` add to, and win over, those of DDL_OPTIONS. The calls below do it if nobody has."""
    job.begin(options)


def finalize():
    """Leaves the job; waits for the other ranks. Done at the end of the program too."""
    job.end()


def is_initialized():
    """Whether this process has joined the job."""
    return _comm.is_running()


def rank():
    """The number of this process in the job, from 0."""
    job.ensure()
    return _comm.rank()


def size():
    """How many processes the job has."""
    job.ensure()
    return _comm.size()


def local_rank():
    """The number of this process among those of its host: which accelerator or cores are its own."""
    job.ensure()
    return _comm.local_rank()


def local_size():
    """How many processes of the job are on this host."""
    job.ensure()
    return _comm.local_size()


def num_hosts():
    """How many hosts the job has."""
    job.ensure()
    return len(set(_comm.hosts()))


def barrier():
    """Waits until all ranks are here."""
    job.ensure()
    _comm.barrier_async(arrays.unnamed()).wait()


def bcast(values, root=0):
    """What rank `root` has: an array, or a list or tuple of arrays. The arrays given are not changed."""
    job.ensure()
    several = isinstance(values, (list, tuple))
    inputs = [arrays.plain(arrays.as_array(value)) for value in (values if several else [values])]
    outputs = [arrays.empty_like(value) for value in inputs]
    handles = [
        _comm.broadcast_async(arrays.unnamed(), source, target, root, is_kept=False)
        for source, target in zip(inputs, outputs)
    ]
    for handle in handles:
        handle.wait()
    return type(values)(outputs) if several else outputs[0]


def allreduce(value, op="avg", name=None):
    """One array, reduced over all ranks: "avg", "sum", "min", "max" or "product". The array given is not changed."""
    return allreduce_n([value], op, name)[0]


def allreduce_n(values, op="avg", name=None):
    """A list of arrays, reduced in one shot. With a `name`, which must not be used twice at a time, ranks may call in any order."""
    job.ensure()
    inputs = [arrays.plain(arrays.as_array(value)) for value in values]
    outputs = [arrays.empty_like(value) for value in inputs]
    handles = [
        _comm.all_reduce_async(
            part, [inputs[i] for i in members], [outputs[i] for i in members], op=_op(op), is_kept=name is not None
        )
        for part, _, members in arrays.by_type(name or arrays.unnamed(), [str(value.dtype) for value in inputs])
    ]
    for handle in handles:
        handle.wait()
    return outputs


def grads_reduce(grads, average=True, name=None):
    """The gradients of all ranks, averaged or summed. A list of arrays, or of pairs (gradient, variable); None stays None."""
    pairs = [grad if isinstance(grad, tuple) else (grad, None) for grad in grads]
    present = [i for i, (grad, _) in enumerate(pairs) if grad is not None]
    reduced = allreduce_n([pairs[i][0] for i in present], "avg" if average else "sum", name) if present else []
    result = [grad for grad, _ in pairs]
    for i, value in zip(present, reduced):
        result[i] = value
    return [(value, pairs[i][1]) if isinstance(grads[i], tuple) else value for i, value in enumerate(result)]


def allgather(value):
    """The arrays of all ranks, one behind the other along the first dimension, which may differ between ranks."""
    job.ensure()
    array = arrays.plain(arrays.as_array(value))
    handle = _comm.all_gather_async(arrays.unnamed(), [array], is_kept=False)
    handle.wait()
    return _gathered(handle, array)


def _gathered(handle, like):
    import ctypes

    import numpy

    rows, address, owner = handle.gathered()[0]
    shape = (sum(rows), *like.shape[1:])
    source = like.numpy() if arrays.is_torch(like) else like
    result = numpy.empty(shape, dtype=source.dtype)
    if result.nbytes:
        ctypes.memmove(result.ctypes.data, address, result.nbytes)
    del owner  # the memory lived until here
    if arrays.is_torch(like):
        import torch

        return torch.from_numpy(result)
    return result


def _op(op):
    if isinstance(op, str) and op.lower() in _OPS:
        return _OPS[op.lower()]
    raise ValueError(f"DDL-4-87 There is no operation {op!r}; use one of {', '.join(sorted(_OPS))}.")


def __getattr__(name):
    if name in ("DDLCallback", "DDLGlobalVariablesCallback", "DDLGlobalVariablesHook", "DDLGlobalVariableHook"):
        from ddl import keras

        return getattr(keras, name)
    if name in ("torch", "hooks"):
        import importlib

        return importlib.import_module("tutti.torch" if name == "torch" else "tutti.torch.hooks")
    raise AttributeError(f"module 'ddl' has no attribute {name!r}")


_torch.register_soon()
