"""PowerAI DDL's Python API: collectives on arrays and tensors, over the ranks of a job.

    import ddl
    ddl.init()
    weights = ddl.bcast(weights)                  # those of rank 0
    gradients = ddl.grads_reduce(gradients)       # averaged over all ranks

Arrays are NumPy arrays, torch tensors in host memory, or any object with the buffer protocol or DLPack. Importing
`ddl` also registers the backend `ddl` of torch.distributed: immediately if torch is imported, otherwise as soon as the
program imports it.
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
    """Join the job. Collective: all ranks must call it.

    Optional: every other function joins the job on first use.

    Parameters
    ----------
    options : str, optional
        Communicator options in the syntax of DDL_OPTIONS, which they override.
    """
    job.begin(options)


def finalize():
    """Leave the job after all other ranks have called it. Also called at exit."""
    job.end()


def is_initialized():
    """Return whether this process has joined the job."""
    return _comm.is_running()


def rank():
    """Return the rank of this process, from 0 to `size() - 1`."""
    job.ensure()
    return _comm.rank()


def size():
    """Return the number of ranks in the job."""
    job.ensure()
    return _comm.size()


def local_rank():
    """Return the rank of this process among the ranks of its host, for example to select an accelerator."""
    job.ensure()
    return _comm.local_rank()


def local_size():
    """Return the number of ranks on this host."""
    job.ensure()
    return _comm.local_size()


def num_hosts():
    """Return the number of hosts in the job."""
    job.ensure()
    return len(set(_comm.hosts()))


def barrier():
    """Block until all ranks have called it."""
    job.ensure()
    _comm.barrier_async(arrays.unnamed()).wait()


def bcast(values, root=0):
    """Broadcast arrays from rank `root` to all ranks.

    Parameters
    ----------
    values : array, list of arrays or tuple of arrays
        Arrays of the same shapes and dtypes on all ranks. They are not modified.
    root : int, optional
        Rank whose values are sent.

    Returns
    -------
    array, list of arrays or tuple of arrays
        New arrays with the values of rank `root`, in the same structure as `values`.
    """
    job.ensure()
    several = isinstance(values, (list, tuple))
    inputs = [arrays.plain(arrays.as_array(value)) for value in (values if several else [values])]
    outputs = [arrays.empty_like(value) for value in inputs]
    handles = [
        _comm.broadcast_async(arrays.unnamed(), source, target, root, is_cacheable=False)
        for source, target in zip(inputs, outputs)
    ]
    for handle in handles:
        handle.wait()
    return type(values)(outputs) if several else outputs[0]


def allreduce(value, op="avg", name=None):
    """Reduce one array over all ranks.

    Parameters
    ----------
    value : array
        Array of the same shape and dtype on all ranks. It is not modified.
    op : {"avg", "sum", "min", "max", "product"}, optional
        Reduction. "average" is an alias of "avg".
    name : str, optional
        Name of the operation. Ranks may issue named operations in different orders. A name can be reused as soon as its
        operation has completed.

    Returns
    -------
    array
        A new array with the result.

    Raises
    ------
    ValueError
        If `op` is unknown.
    Error
        If the ranks disagree on shape, dtype or operation, or a rank has failed.

    Examples
    --------
    >>> import numpy, ddl
    >>> ddl.allreduce(numpy.array([1.0, 2.0]))
    array([1., 2.])
    """
    return allreduce_n([value], op, name)[0]


def allreduce_n(values, op="avg", name=None):
    """Reduce a list of arrays over all ranks in one operation per dtype.

    Parameters
    ----------
    values : list of arrays
        Arrays of the same shapes and dtypes on all ranks. They are not modified.
    op, name
        As for `allreduce`.

    Returns
    -------
    list of arrays
        New arrays with the results.
    """
    job.ensure()
    inputs = [arrays.plain(arrays.as_array(value)) for value in values]
    outputs = [arrays.empty_like(value) for value in inputs]
    handles = [
        _comm.all_reduce_async(
            part, [inputs[i] for i in members], [outputs[i] for i in members], op=_op(op), is_cacheable=name is not None
        )
        for part, _, members in arrays.by_type(name or arrays.unnamed(), [str(value.dtype) for value in inputs])
    ]
    for handle in handles:
        handle.wait()
    return outputs


def grads_reduce(grads, average=True, name=None):
    """Average or sum gradients over all ranks.

    Parameters
    ----------
    grads : list
        Gradients, or pairs (gradient, variable) as TensorFlow optimizers use them. None stays None; the positions of
        None must be the same on all ranks.
    average : bool, optional
        Average if True, sum otherwise.
    name : str, optional
        Name of the operation, see `allreduce`.

    Returns
    -------
    list
        The reduced gradients, in the structure of `grads`.

    Examples
    --------
    >>> import numpy, ddl
    >>> ddl.grads_reduce([numpy.array([0.5, 1.5]), None])
    [array([0.5, 1.5]), None]
    """
    pairs = [grad if isinstance(grad, tuple) else (grad, None) for grad in grads]
    present = [i for i, (grad, _) in enumerate(pairs) if grad is not None]
    reduced = allreduce_n([pairs[i][0] for i in present], "avg" if average else "sum", name) if present else []
    result = [grad for grad, _ in pairs]
    for i, value in zip(present, reduced):
        result[i] = value
    return [(value, pairs[i][1]) if isinstance(grads[i], tuple) else value for i, value in enumerate(result)]


def allgather(value):
    """Concatenate the arrays of all ranks along the first dimension, in rank order.

    Parameters
    ----------
    value : array
        Array of the same dtype on all ranks. First dimensions may differ.

    Returns
    -------
    array
        The concatenation.
    """
    job.ensure()
    array = arrays.plain(arrays.as_array(value))
    handle = _comm.all_gather_async(arrays.unnamed(), [array], is_cacheable=False)
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
    del owner  # keeps the memory alive until here
    if arrays.is_torch(like):
        import torch

        return torch.from_numpy(result)
    return result


def _op(op):
    if isinstance(op, str) and op.lower() in _OPS:
        return _OPS[op.lower()]
    raise ValueError(f"DDL-4-87 Unknown reduction {op!r}. Valid values: {', '.join(sorted(_OPS))}.")


def __getattr__(name):
    if name in ("DDLCallback", "DDLGlobalVariablesCallback", "DDLGlobalVariablesHook", "DDLGlobalVariableHook"):
        from ddl import keras

        return getattr(keras, name)
    if name in ("torch", "hooks"):
        import importlib

        return importlib.import_module("tutti.torch" if name == "torch" else "tutti.torch.hooks")
    raise AttributeError(f"module 'ddl' has no attribute {name!r}")


_torch.register_on_import()
