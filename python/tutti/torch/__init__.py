"""PyTorch on Tutti's collectives: the backend `ddl` of torch.distributed.

    import tutti.torch                                   # or: import ddl
    torch.distributed.init_process_group("ddl")

Works for tensors in host memory. Ranks are started by ddlrun, mpirun, torchrun, or by hand with RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT. See docs/use/torch.md.
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
from tutti.torch import barrier
from tutti.job import failure_of_program

__all__ = ["description", "empty", "is_shared", "register", "set_compression", "share", "use_shared_memory"]

_BACKEND = "ddl"
_place = []  # address and port where ranks meet, when it was we who said so
_rendezvous = importlib.import_module("torch.distributed.rendezvous")  # a function of that name hides it


def register():
    """Makes the backend `ddl` known to torch.distributed; a second call does nothing."""
    if hasattr(dist.Backend, _BACKEND.upper()):
        return
    devices = {"devices": ["cpu"]} if int(torch.__version__.split(".")[0]) >= 2 else {}
    dist.Backend.register_backend(_BACKEND, _create, extended_api=True, **devices)
    handlers = _rendezvous._rendezvous_handlers
    handlers["env"] = functools.partial(_after_filling, handlers["env"])
    dist.monitored_barrier = barrier.for_backend(_BACKEND, dist.monitored_barrier)
    dist.distributed_c10d.monitored_barrier = dist.monitored_barrier
    atexit.register(_end_of_program)


def _end_of_program():
    reason = failure_of_program()
    if reason and _torch.is_connected():
        _torch.abandon(reason)
    _torch.shut_down()


def set_compression(form, group=None):
    """Shortens what large float32 sums and averages of `group` send between hosts.

    form: "none", "bf16", "f16", "int8" or "topk:0.01". Inside a host nothing changes.
    """
    _torch.set_compression(_backend_of(group), form)


def share(tensor):
    """Moves the memory of `tensor`, and of all its views, where all ranks of this host can reach it.

    Collectives then work on it in place. False when that is not possible. No NumPy array of it may exist: it would keep the
    address of the old memory.
    """
    return _torch.share(tensor)


def is_shared(tensor):
    """Whether `tensor` lies where `share` puts it."""
    return _torch.is_shared(tensor)


def empty(*sizes, dtype=torch.float32):
    """An uninitialised tensor where `share` would put it."""
    sizes = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return _torch.empty_shared(list(sizes), torch.empty(0, dtype=dtype))


def use_shared_memory(least_bytes=1 << 20):
    """From now on puts every new tensor of at least `least_bytes` where `share` would put it; 0 ends that.

    Forked processes share such tensors with their parent, instead of having a copy; start data loader workers that change
    tensors of the parent with "spawn" or "forkserver".
    """
    _torch.allocate_shared(least_bytes)


def description(group=None):
    """What was found and chosen for `group`, for people."""
    return _torch.description(_backend_of(group))


def _backend_of(group):
    group = group or dist.distributed_c10d._get_default_group()
    return group._get_backend(torch.device("cpu")) if hasattr(group, "_get_backend") else group


def _create(options, _):
    timeout = options.timeout if isinstance(options.timeout, timedelta) else timedelta(seconds=options.timeout)
    if options.global_ranks_in_group and _is_part(options):
        return _torch.group(options.global_ranks_in_group, timeout)
    group = _torch.start(options.group_rank, options.group_size, _meeting_place(options), timeout)
    if os.environ.get("TUTTI_TORCH_SHARED"):
        use_shared_memory(int(os.environ["TUTTI_TORCH_SHARED"]))
    if os.environ.get("TUTTI_TORCH_COMPRESSION"):
        _torch.set_compression(group, os.environ["TUTTI_TORCH_COMPRESSION"])
    return group


def _is_part(options):
    """2.x names all ranks of the default group too, which is not there yet."""
    return dist.is_initialized()


def _meeting_place(options):
    """Where ranks find each other: a name, and with several hosts address, port and secret; None when MPI connects them."""
    rank, size, store = options.group_rank, options.group_size, options.store
    job = _torch.find_job()
    if size == 1:
        return str(uuid.uuid4()), "", 0, ""
    if job["by_mpi"] and (job["rank"], job["size"]) == (rank, size):
        return None
    store.set(f"ddl/host/{rank}", _host())
    hosts = {store.get(f"ddl/host/{other}") for other in range(size)}
    if rank == 0:
        door = f"{_address()} {_free_port()} {secrets.token_hex(32)}" if len(hosts) > 1 else ""
        store.set("ddl/place", f"{uuid.uuid4()} {door}")
    name, *door = store.get("ddl/place").decode().split()
    return (name, door[0], int(door[1]), door[2]) if door else (name, "", 0, "")


def _host():
    """Differs between hosts, and between what pretends to be hosts."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return os.environ.get("TUTTI_HOST_ID", "") + socket.gethostname() + file.read().strip()


def _after_filling(handler, *args, **kwargs):
    _fill_environment()
    return handler(*args, **kwargs)


def _fill_environment():
    """mpirun says who a rank is, but not in torch's words, nor where ranks shall meet: so they agree on it over MPI."""
    job = _torch.find_job()
    is_ours = [os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")] == _place
    if not job["by_mpi"] or ("MASTER_ADDR" in os.environ and not is_ours):
        return
    rank, size = job["rank"], job["size"]
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size))
    _torch.connect(rank, size, None, dist.default_pg_timeout)
    # A new port each time: ranks that are early would still find the store of the time before.
    mine = f"{_address()} {_free_port()}" if rank == 0 else ""
    _place[:] = _torch.broadcast_text(mine).split()
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = _place


def _address():
    """The address by which others reach this host, which is rank 0's."""
    told = os.environ.get("MASTER_ADDR", "localhost")
    if not socket.gethostbyname(told).startswith("127."):
        return socket.gethostbyname(told)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent: it only finds the interface of the default route
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostbyname(socket.gethostname())


def _free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


register()

from tutti.torch import hooks  # noqa: E402, F401: needs what is above
