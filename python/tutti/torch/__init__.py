"""Backend `ddl` of torch.distributed.

    import tutti.torch                                   # or: import ddl
    torch.distributed.init_process_group("ddl")

The backend supports tensors in host memory. Start the ranks with ddlrun, mpirun or torchrun, or by hand with RANK,
WORLD_SIZE, MASTER_ADDR and MASTER_PORT. See docs/use/torch.md.
"""

import atexit
import functools
import importlib
import os
import secrets
import socket
import uuid
from datetime import timedelta

import torch
import torch.distributed as dist

from tutti import _torch
from tutti.torch import barrier, compat
from tutti.job import failure_of_program

__all__ = ["description", "empty", "is_shared", "register", "set_compression", "share", "use_shared_memory"]

_BACKEND = "ddl"
_master = []  # MASTER_ADDR and MASTER_PORT, if this module has set them
_rendezvous = importlib.import_module("torch.distributed.rendezvous")  # the attribute is a function of the same name


def register():
    """Register the backend `ddl` with torch.distributed.

    Importing `tutti.torch` calls it. A second call has no effect.
    """
    if hasattr(dist.Backend, _BACKEND.upper()):
        return
    compat.register_backend(_BACKEND, _create)
    handlers = _rendezvous._rendezvous_handlers
    handlers["env"] = functools.partial(_with_environment, handlers["env"])
    handlers["tcp"] = functools.partial(_with_store_server, handlers["tcp"])
    dist.monitored_barrier = barrier.for_backend(_BACKEND, dist.monitored_barrier)
    dist.distributed_c10d.monitored_barrier = dist.monitored_barrier
    atexit.register(_end_of_program)


def _end_of_program():
    """Leave the job at exit. If the program failed, notify the other ranks instead of waiting for them."""
    reason = failure_of_program()
    if reason and _torch.is_connected():
        _torch.abandon(reason)
    _torch.shut_down()


def set_compression(form, group=None):
    """Compress the data that large float32 sums and averages of a group send between hosts.

    Communication within a host is not compressed.

    Parameters
    ----------
    form : str
        "none", "bf16", "f16", "int8" or "topk:0.01".
    group : torch.distributed.ProcessGroup, optional
        Process group; by default the default group.
    """
    _torch.set_compression(compat.backend_of(group), form)


def share(tensor):
    """Move the storage of a tensor and all its views to library-allocated shared memory.

    Collectives access such tensors in place, without copies. NumPy arrays that view the tensor keep the address of the
    old memory, so none may exist.

    Parameters
    ----------
    tensor : torch.Tensor
        Tensor in host memory.

    Returns
    -------
    bool
        False if the storage cannot be moved.
    """
    return _torch.share(tensor)


def is_shared(tensor):
    """Return whether the storage of a tensor is in library-allocated shared memory.

    Parameters
    ----------
    tensor : torch.Tensor
        Tensor to test.

    Returns
    -------
    bool
        True if it is.
    """
    return _torch.is_shared(tensor)


def empty(*sizes, dtype=torch.float32):
    """Return an uninitialised tensor in library-allocated shared memory.

    Parameters
    ----------
    *sizes : int or sequence of int
        Shape, as for `torch.empty`.
    dtype : torch.dtype, optional
        Element type.

    Returns
    -------
    torch.Tensor
        The tensor.
    """
    sizes = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return _torch.empty_shared(list(sizes), torch.empty(0, dtype=dtype))


def use_shared_memory(least_bytes=1 << 20):
    """Allocate every new tensor of at least `least_bytes` bytes in library-allocated shared memory.

    Parameters
    ----------
    least_bytes : int, optional
        Size threshold; 0 turns it off.

    Notes
    -----
    A forked process shares these tensors with its parent instead of getting a copy. Start data loader workers that
    modify tensors of the parent with "spawn" or "forkserver".
    """
    _torch.allocate_shared(least_bytes)


def description(group=None):
    """Return a human-readable description of the topology and the selected algorithms of a group.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup, optional
        Process group; by default the default group.

    Returns
    -------
    str
        The description.
    """
    return _torch.description(compat.backend_of(group))


def _create(options, _):
    """Create the backend of a process group, as torch.distributed requests it."""
    timeout = options.timeout if isinstance(options.timeout, timedelta) else timedelta(seconds=options.timeout)
    if options.global_ranks_in_group and _is_subgroup(options):
        return _torch.group(options.global_ranks_in_group, timeout)
    group = _torch.start(options.group_rank, options.group_size, _rendezvous_point(options), timeout)
    if os.environ.get("TUTTI_TORCH_SHARED"):
        use_shared_memory(int(os.environ["TUTTI_TORCH_SHARED"]))
    if os.environ.get("TUTTI_TORCH_COMPRESSION"):
        _torch.set_compression(group, os.environ["TUTTI_TORCH_COMPRESSION"])
    return group


def _is_subgroup(options):
    """Return whether this is a subgroup: torch 2 passes `global_ranks_in_group` for the default group, too."""
    return dist.is_initialized()


def _rendezvous_point(options):
    """Return the rendezvous as (name, address, port, secret); None if MPI connects the ranks."""
    rank, size, store = options.group_rank, options.group_size, options.store
    job = _torch.find_job()
    if size == 1:
        return str(uuid.uuid4()), "", 0, ""
    if job["by_mpi"] and (job["rank"], job["size"]) == (rank, size):
        return None
    store.set(f"ddl/host/{rank}", _host())
    hosts = {store.get(f"ddl/host/{other}") for other in range(size)}
    if rank == 0:
        contact = f"{_address()} {_free_port()} {secrets.token_hex(32)}" if len(hosts) > 1 else ""
        store.set("ddl/rendezvous", f"{uuid.uuid4()} {contact}")
    name, *contact = store.get("ddl/rendezvous").decode().split()
    return (name, contact[0], int(contact[1]), contact[2]) if contact else (name, "", 0, "")


def _host():
    """Return an identifier that differs between hosts, including emulated ones."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return os.environ.get("TUTTI_HOST_ID", "") + socket.gethostname() + file.read().strip()


def _with_environment(handler, *args, **kwargs):
    """Rendezvous handler that sets the environment variables of torch first."""
    compat.choose_store_server()
    _fill_environment()
    return handler(*args, **kwargs)


def _with_store_server(handler, *args, **kwargs):
    """Rendezvous handler that selects a server for torch's store first."""
    compat.choose_store_server()
    return handler(*args, **kwargs)


def _fill_environment():
    """Under mpirun, set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; the ranks agree on the last two over MPI."""
    job = _torch.find_job()
    is_ours = [os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")] == _master
    if not job["by_mpi"] or ("MASTER_ADDR" in os.environ and not is_ours):
        return
    rank, size = job["rank"], job["size"]
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size))
    _torch.connect(rank, size, None, dist.default_pg_timeout)
    # A new port each time: early ranks would connect to the previous store.
    mine = f"{_address()} {_free_port()}" if rank == 0 else ""
    _master[:] = _torch.broadcast_text(mine).split()
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = _master


def _address():
    """Return an address at which other hosts reach this one. Called on rank 0."""
    master = os.environ.get("MASTER_ADDR", "localhost")
    if not socket.gethostbyname(master).startswith("127."):
        return socket.gethostbyname(master)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # selects the interface of the default route; nothing is sent
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostbyname(socket.gethostname())


def _free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


register()

from tutti.torch import hooks  # noqa: E402, F401: needs the definitions above
