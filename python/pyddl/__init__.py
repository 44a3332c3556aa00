"""pyddl: DDL's calls for Python programs that manage their own buffers.

    import pyddl
    pyddl.init("-mode p")
    res, buf = pyddl.malloc(64, 4 * n)                      # library memory, the fastest to reduce
    pyddl.memcpy_host_to_device(buf, array, 4 * n)
    pyddl.allreduce(buf, n, pyddl.DDL_TYPE_FLOAT, pyddl.DDL_OP_SUM)
    pyddl.allreduce(array)                                  # or directly on NumPy arrays and tensors, in place
    pyddl.finalize()

Calls return DDL_SUCCESS, or what they are asked for; what fails raises `pyddl.Error` with the words and the `code`. `buf` has the
buffer protocol: numpy.frombuffer(buf, numpy.float32) is the same memory.
"""

from tutti import _comm, job
from tutti.job import Error  # noqa: F401

DDL_SUCCESS = 0
DDL_TYPE_FLOAT, DDL_TYPE_DOUBLE, DDL_TYPE_HALF, DDL_TYPE_BFLOAT16 = range(4)
DDL_TYPE_INT8, DDL_TYPE_UINT8, DDL_TYPE_INT32, DDL_TYPE_INT64 = range(4, 8)
DDL_OP_SUM, DDL_OP_AVG, DDL_OP_MIN, DDL_OP_MAX, DDL_OP_PRODUCT = range(5)

_ITEM_BYTES = (4, 8, 2, 2, 1, 1, 4, 8)


def init(options=""):
    """Joins the job; all ranks call it."""
    job.begin(options)
    return DDL_SUCCESS


def finalize():
    """Leaves the job; waits for the other ranks."""
    job.end()
    return DDL_SUCCESS


def rank():
    """The number of this process in the job, from 0."""
    return _comm.rank()


def size():
    """How many processes the job has."""
    return _comm.size()


def local_rank():
    """The number of this process among those of its host."""
    return _comm.local_rank()


def local_size():
    """How many processes of the job are on this host."""
    return _comm.local_size()


def malloc(align, nbytes):
    """(DDL_SUCCESS, memory that all ranks of the host can reach). It lives until `free`, or until nobody has it."""
    _check(nbytes >= 0 and align >= 0, f"memory of {nbytes} bytes, aligned to {align}, cannot be had")
    return DDL_SUCCESS, _comm.Memory(nbytes, align)


def free(buf):
    """Gives library memory back; arrays made of it must not be used any more."""
    _check(isinstance(buf, _comm.Memory), "only what malloc gave can be freed")
    buf.release()
    return DDL_SUCCESS


def memcpy_host_to_device(device, host, nbytes):
    """Copies bytes into library memory, which is host memory here."""
    _comm.copy(device, host, nbytes)
    return DDL_SUCCESS


def memcpy_device_to_host(host, device, nbytes):
    """Copies bytes out of library memory."""
    _comm.copy(host, device, nbytes)
    return DDL_SUCCESS


def memsync():
    """Waits for copies; they are complete when they return."""
    _comm.check()
    return DDL_SUCCESS


def allreduce(buf, n=None, dtype=None, op=DDL_OP_SUM):
    """Reduces `n` elements over all ranks, in place; all ranks call it in the same order.

    `buf`: library memory, a NumPy array, a torch tensor, anything with the buffer protocol or DLPack. Arrays know their count and
    type; give them for memory without a type (DDL_TYPE_FLOAT if left out).
    """
    _comm.all_reduce(_elements(buf, n, dtype), op=_op(op))
    return DDL_SUCCESS


def bcast(buf, n=None, dtype=None, root=0):
    """What rank `root` has in `buf` goes to all ranks."""
    _comm.broadcast(_elements(buf, n, dtype), root)
    return DDL_SUCCESS


def barrier():
    """Waits until all ranks are here."""
    _comm.barrier()
    return DDL_SUCCESS


def _elements(buf, n, dtype):
    """What the library takes: the array itself, or (address, shape, type, owner)."""
    _check(n is None or n >= 0, f"there are no {n} elements")
    _check(dtype is None or dtype in range(len(_ITEM_BYTES)), f"there is no type {dtype!r}; use DDL_TYPE_FLOAT, DDL_TYPE_DOUBLE, ...")
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
    _check(isinstance(op, int) and 0 <= op < len(kinds), f"there is no operation {op!r}; use DDL_OP_SUM, DDL_OP_AVG, ...")
    return kinds[op]


def _check(is_right, words):
    if not is_right:
        raise ValueError(f"DDL-4-01 {words}.")
