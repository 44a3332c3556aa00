"""PowerAI DDL's low-level API: collectives on buffers that the program manages.

    import pyddl
    pyddl.init("-mode p")
    res, buf = pyddl.malloc(64, 4 * n)                      # library-allocated memory, the fastest to reduce
    pyddl.memcpy_host_to_device(buf, array, 4 * n)
    pyddl.allreduce(buf, n, pyddl.DDL_TYPE_FLOAT, pyddl.DDL_OP_SUM)
    pyddl.allreduce(array)                                  # NumPy arrays and tensors are reduced in place
    pyddl.finalize()

Functions return `DDL_SUCCESS` or the requested value. A failure raises `pyddl.Error`, whose attribute `code` is the
error code, or a `ValueError` for an invalid argument. A buffer from `malloc` supports the buffer protocol:
`numpy.frombuffer(buf, numpy.float32)` is a view of its memory.
"""

from tutti import _comm, job
from tutti.job import Error  # noqa: F401

DDL_SUCCESS = 0
DDL_TYPE_FLOAT, DDL_TYPE_DOUBLE, DDL_TYPE_HALF, DDL_TYPE_BFLOAT16 = range(4)
DDL_TYPE_INT8, DDL_TYPE_UINT8, DDL_TYPE_INT32, DDL_TYPE_INT64 = range(4, 8)
DDL_OP_SUM, DDL_OP_AVG, DDL_OP_MIN, DDL_OP_MAX, DDL_OP_PRODUCT = range(5)

_ITEM_BYTES = (4, 8, 2, 2, 1, 1, 4, 8)


def init(options=""):
    """Join the job. Collective: all ranks must call it.

    Parameters
    ----------
    options : str, optional
        Communicator options in the syntax of DDL_OPTIONS, which they override.

    Returns
    -------
    int
        `DDL_SUCCESS`.
    """
    job.begin(options)
    return DDL_SUCCESS


def finalize():
    """Leave the job after all other ranks have called it. Also called at exit.

    Returns
    -------
    int
        `DDL_SUCCESS`.
    """
    job.end()
    return DDL_SUCCESS


def rank():
    """Return the rank of this process, from 0 to `size() - 1`."""
    return _comm.rank()


def size():
    """Return the number of ranks in the job."""
    return _comm.size()


def local_rank():
    """Return the rank of this process among the ranks of its host."""
    return _comm.local_rank()


def local_size():
    """Return the number of ranks on this host."""
    return _comm.local_size()


def malloc(align, nbytes):
    """Allocate memory that all ranks of this host can access.

    Collectives on library-allocated memory need no copies. The memory is released by `free`, or with the last
    reference to it.

    Parameters
    ----------
    align : int
        Alignment in bytes.
    nbytes : int
        Size in bytes.

    Returns
    -------
    int
        `DDL_SUCCESS`.
    tutti._comm.Memory
        The memory; supports the buffer protocol.

    Raises
    ------
    ValueError
        If `align` or `nbytes` is negative.

    Examples
    --------
    >>> import numpy, pyddl
    >>> pyddl.init()
    0
    >>> res, buf = pyddl.malloc(64, 16)
    >>> array = numpy.frombuffer(buf, numpy.float32, 4)
    >>> array[:] = 3
    >>> pyddl.allreduce(buf, 4, pyddl.DDL_TYPE_FLOAT, pyddl.DDL_OP_SUM)
    0
    >>> array
    array([3., 3., 3., 3.], dtype=float32)
    """
    _check(nbytes >= 0 and align >= 0, f"invalid size or alignment: {nbytes} bytes aligned to {align}")
    return DDL_SUCCESS, _comm.Memory(nbytes, align)


def free(buf):
    """Release memory from `malloc`. Arrays that view it must not be used afterwards.

    Parameters
    ----------
    buf : tutti._comm.Memory
        Memory from `malloc`.

    Returns
    -------
    int
        `DDL_SUCCESS`.

    Raises
    ------
    ValueError
        If `buf` is not from `malloc`.
    """
    _check(isinstance(buf, _comm.Memory), f"free() needs memory from malloc(), not {type(buf).__name__}")
    buf.release()
    return DDL_SUCCESS


def memcpy_host_to_device(device, host, nbytes):
    """Copy `nbytes` bytes from `host` into library-allocated memory, which is host memory in this implementation.

    Returns
    -------
    int
        `DDL_SUCCESS`.
    """
    _comm.copy(device, host, nbytes)
    return DDL_SUCCESS


def memcpy_device_to_host(host, device, nbytes):
    """Copy `nbytes` bytes from library-allocated memory to `host`.

    Returns
    -------
    int
        `DDL_SUCCESS`.
    """
    _comm.copy(host, device, nbytes)
    return DDL_SUCCESS


def memsync():
    """Wait for pending copies. Copies are synchronous, so this only checks that the job is usable.

    Returns
    -------
    int
        `DDL_SUCCESS`.
    """
    _comm.check()
    return DDL_SUCCESS


def allreduce(buf, n=None, dtype=None, op=DDL_OP_SUM):
    """Reduce `n` elements over all ranks, in place. Collective: all ranks must call it in the same order.

    Parameters
    ----------
    buf : object
        Library-allocated memory, a NumPy array, a torch tensor, or any object with the buffer protocol or DLPack.
    n : int, optional
        Number of elements; by default all.
    dtype : int, optional
        One of the `DDL_TYPE_*` constants. Required only for memory without a dtype; default `DDL_TYPE_FLOAT`.
    op : int, optional
        One of the `DDL_OP_*` constants.

    Returns
    -------
    int
        `DDL_SUCCESS`.

    Raises
    ------
    ValueError
        If `n`, `dtype` or `op` is invalid or does not match the array.
    Error
        If the ranks disagree on count, dtype or operation, or a rank has failed.

    Examples
    --------
    >>> import numpy, pyddl
    >>> pyddl.init()
    0
    >>> values = numpy.array([1.0, 2.0])
    >>> pyddl.allreduce(values, op=pyddl.DDL_OP_MAX)
    0
    >>> values
    array([1., 2.])
    """
    _comm.all_reduce(_elements(buf, n, dtype), op=_op(op))
    return DDL_SUCCESS


def bcast(buf, n=None, dtype=None, root=0):
    """Broadcast `n` elements from rank `root` to all ranks, in place.

    Parameters
    ----------
    buf, n, dtype
        As for `allreduce`.
    root : int, optional
        Rank whose values are sent.

    Returns
    -------
    int
        `DDL_SUCCESS`.
    """
    _comm.broadcast(_elements(buf, n, dtype), root)
    return DDL_SUCCESS


def barrier():
    """Block until all ranks have called it.

    Returns
    -------
    int
        `DDL_SUCCESS`.
    """
    _comm.barrier()
    return DDL_SUCCESS


def _elements(buf, n, dtype):
    """Return the array itself, or (address, shape, dtype, owner) for a part of it or for untyped memory."""
    _check(n is None or n >= 0, f"invalid number of elements: {n}")
    _check(dtype is None or dtype in range(len(_ITEM_BYTES)), f"unknown type {dtype!r}; use DDL_TYPE_FLOAT, DDL_TYPE_DOUBLE, ...")
    if isinstance(buf, _comm.Memory):
        kind = DDL_TYPE_FLOAT if dtype is None else dtype
        room = len(buf) // _ITEM_BYTES[kind]
        _check(n is None or n <= room, f"{n} elements do not fit into {len(buf)} bytes")
        return (buf.address, (room if n is None else n,), kind, buf)
    if n is None and dtype is None:
        return buf
    address, count, kind = _comm.view(buf)
    _check(dtype is None or dtype == kind, f"the array has type {kind}, not {dtype}")
    _check(n is None or n <= count, f"the array has {count} elements, not {n}")
    return (address, (count if n is None else n,), kind, buf)


def _op(op):
    ops = _comm.ReduceOp
    kinds = (ops.sum, ops.average, ops.min, ops.max, ops.product)
    _check(isinstance(op, int) and 0 <= op < len(kinds), f"unknown operation {op!r}; use DDL_OP_SUM, DDL_OP_AVG, ...")
    return kinds[op]


def _check(is_valid, message):
    if not is_valid:
        raise ValueError(f"DDL-4-01 {message}.")
