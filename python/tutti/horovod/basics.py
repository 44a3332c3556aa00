"""Horovod's framework-independent API: initialisation, ranks, reduction operators, process sets and the timeline."""

import operator
import os

from tutti import _comm, job

__all__ = [
    "Adasum",
    "Average",
    "Max",
    "Min",
    "ProcessSet",
    "Product",
    "Sum",
    "add_process_set",
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "global_process_set",
    "gloo_built",
    "gloo_enabled",
    "init",
    "is_homogeneous",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "rank",
    "remove_process_set",
    "rocm_built",
    "shutdown",
    "size",
    "start_timeline",
    "stop_timeline",
]

# Horovod's environment variables and their equivalents.
_VARIABLES = {
    "HOROVOD_FUSION_THRESHOLD": "TUTTI_BUCKET_BYTES",
    "HOROVOD_CYCLE_TIME": "TUTTI_CYCLE_MS",
    "HOROVOD_CACHE_CAPACITY": "TUTTI_CACHE_ENTRIES",
    "HOROVOD_AUTOTUNE": "TUTTI_AUTOTUNE",
    "HOROVOD_TIMELINE": "TUTTI_TIMELINE",
    "HOROVOD_STALL_CHECK_DISABLE": "DDL_STALL_SECONDS",
    "HOROVOD_STALL_CHECK_TIME_SECONDS": "DDL_STALL_SECONDS",
    "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "DDL_TIMEOUT",
}
# Special values of Horovod's variables; None: treated as unset.
_VALUES = {
    ("HOROVOD_FUSION_THRESHOLD", "0"): "1",  # no fusion
    ("HOROVOD_TIMELINE", "DYNAMIC"): None,  # start_timeline is always available
    ("HOROVOD_STALL_CHECK_DISABLE", "0"): None,
    ("HOROVOD_STALL_CHECK_DISABLE", "1"): "1e6",
    ("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "0"): None,
}


class ReduceOp:
    """Reduction operator: `Average`, `Sum`, `Adasum`, `Min`, `Max` or `Product`."""

    def __init__(self, name, op, is_adasum=False):
        self.name, self.op, self.is_adasum = name, op, is_adasum

    def __repr__(self):
        return self.name


Average = ReduceOp("Average", _comm.ReduceOp.average)
Sum = ReduceOp("Sum", _comm.ReduceOp.sum)
Adasum = ReduceOp("Adasum", _comm.ReduceOp.sum, is_adasum=True)
Min = ReduceOp("Min", _comm.ReduceOp.min)
Max = ReduceOp("Max", _comm.ReduceOp.max)
Product = ReduceOp("Product", _comm.ReduceOp.product)


class ProcessSet:
    """A subset of the ranks of the job that runs collectives among its members.

    Parameters
    ----------
    ranks : iterable of int, optional
        Ranks of the job that belong to the set.

    Attributes
    ----------
    ranks : list of int
        The ranks of the set, sorted.
    process_set_id : int or None
        Identifier of the set; None until it is registered with `init` or `add_process_set`.

    Raises
    ------
    ValueError
        If `ranks` is not a list of ranks.

    Examples
    --------
    >>> import tutti.horovod as hvd
    >>> str(hvd.ProcessSet([2, 0, 2]))
    'ProcessSet(process_set_id=None, ranks=[0, 2])'
    """

    def __init__(self, ranks=None):
        try:
            self.ranks = None if ranks is None else sorted({operator.index(rank) for rank in ranks})
        except TypeError as error:
            raise ValueError(f"DDL-4-84 A process set needs a list of ranks, not {ranks!r}.") from error
        self.process_set_id = None

    def included(self):
        """Return whether this rank belongs to the set; None if the set is not registered."""
        return None if self.process_set_id is None else rank() in self.ranks

    def rank(self):
        """Return the rank of this process within the set; None if it is not a member."""
        return self.ranks.index(rank()) if self.included() else None

    def size(self):
        """Return the number of ranks in the set; None if the set is not registered."""
        return None if self.process_set_id is None else len(self.ranks)

    def __eq__(self, other):
        return isinstance(other, ProcessSet) and self.ranks == other.ranks

    def __hash__(self):
        return hash(tuple(self.ranks or ()))

    def __str__(self):
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"

    def _id(self):
        if self.process_set_id is None:
            raise ValueError("DDL-4-84 The process set is not registered. Pass it to init() or add_process_set() first.")
        return self.process_set_id


global_process_set = ProcessSet()
_sets = {}  # by id: all ProcessSet objects of this set


def init(comm=None, process_sets=None):
    """Join the job. Collective: all ranks must call it. A second call has no effect.

    The `HOROVOD_*` environment variables for fusion, cache, autotuning, timeline and stall checks are translated to the
    options of Tutti.

    Parameters
    ----------
    comm : list of int or mpi4py.MPI.Comm, optional
        All ranks of the job. A proper subset is not supported: use `process_sets`.
    process_sets : list of ProcessSet or list of list of int, optional
        Process sets to register, the same on all ranks. Sets with the same ranks share one registration.

    Raises
    ------
    ValueError
        If `comm` does not contain all ranks.

    Examples
    --------
    >>> import tutti.horovod as hvd
    >>> hvd.init()
    >>> hvd.rank(), hvd.size()
    (0, 1)
    """
    if is_initialized() and global_process_set.process_set_id is not None:
        return
    _translate_variables()
    job.begin()
    ranks = getattr(comm, "Get_size", lambda: len(comm or []))()
    if ranks not in (0, size()):
        raise ValueError("DDL-4-88 init(comm=...) needs all ranks. Use process_sets for a subset.")
    global_process_set.ranks = list(range(size()))
    _remember(global_process_set, 0)
    for process_set in process_sets or []:
        if isinstance(process_set, str):
            continue  # "dynamic": always supported
        process_set = _as_process_set(process_set)
        existing = _id_of(process_set.ranks)
        if existing is None:
            add_process_set(process_set)
        else:
            _remember(process_set, existing)


def _translate_variables():
    """Translate Horovod's environment variables to Tutti's; variables of Tutti take precedence."""
    for theirs, ours in _VARIABLES.items():
        value = os.environ.get(theirs, "")
        value = _VALUES.get((theirs, value), value)
        if value and not os.environ.get(ours):
            os.environ[ours] = value


def shutdown():
    """Leave the job after all other ranks have called it. Also called at exit."""
    job.end()
    for identity in list(_sets):
        _forget(identity)
    global_process_set.ranks = None


def _as_process_set(given):
    return given if isinstance(given, ProcessSet) else ProcessSet(given)


def _id_of(ranks):
    return next((identity for identity, members in _comm.process_sets().items() if members == ranks), None)


def _remember(process_set, identity):
    process_set.process_set_id = identity
    _sets.setdefault(identity, []).append(process_set)


def _forget(identity):
    for process_set in _sets.pop(identity, []):
        process_set.process_set_id = None


def is_initialized():
    """Return whether this process has joined the job."""
    return _comm.is_running()


def _require_running():
    """Raise ValueError unless this process has joined the job."""
    if not _comm.is_running():
        raise ValueError("DDL-4-60 Horovod is not initialised. Call hvd.init() first.")


def rank():
    """Return the rank of this process, from 0 to `size() - 1`."""
    _require_running()
    return _comm.rank()


def size():
    """Return the number of ranks in the job."""
    _require_running()
    return _comm.size()


def local_rank():
    """Return the rank of this process among the ranks of its host."""
    _require_running()
    return _comm.local_rank()


def local_size():
    """Return the number of ranks on this host."""
    _require_running()
    return _comm.local_size()


def cross_rank():
    """Return the index of this host among the hosts that have a rank with this local rank."""
    _require_running()
    return _same_local_rank().index(_comm.hosts()[_comm.rank()])


def cross_size():
    """Return the number of hosts that have a rank with this local rank."""
    _require_running()
    return len(_same_local_rank())


def _same_local_rank():
    hosts = _comm.hosts()
    return [host for host in range(max(hosts) + 1) if hosts.count(host) > _comm.local_rank()]


def is_homogeneous():
    """Return whether all hosts have the same number of ranks."""
    _require_running()
    hosts = _comm.hosts()
    return len({hosts.count(host) for host in hosts}) == 1


def add_process_set(process_set):
    """Register a process set. Collective: all ranks of the job must call it.

    Parameters
    ----------
    process_set : ProcessSet or list of int
        The set, or its ranks.

    Returns
    -------
    ProcessSet
        The registered set.

    Raises
    ------
    ValueError
        If a set with these ranks already exists.
    """
    _require_running()
    process_set = _as_process_set(process_set)
    if process_set.process_set_id is not None or _id_of(process_set.ranks) is not None:
        raise ValueError(f"DDL-4-89 A process set with the ranks {process_set.ranks} already exists.")
    _remember(process_set, _comm.add_process_set(process_set.ranks))
    return process_set


def remove_process_set(process_set):
    """Remove a process set from the job. Collective: all ranks of the job must call it.

    Parameters
    ----------
    process_set : ProcessSet
        The set to remove.

    Returns
    -------
    bool
        False if the set is not registered or is the global set, True otherwise.
    """
    _require_running()
    if process_set.process_set_id in (None, 0):
        return False
    _comm.remove_process_set(process_set.process_set_id)
    _forget(process_set.process_set_id)
    return True


def start_timeline(file_path, mark_cycles=False):
    """Start recording a timeline of tensor operations. Collective: all ranks must call it.

    Parameters
    ----------
    file_path : str or path-like
        File that `stop_timeline` writes.
    mark_cycles : bool, optional
        Accepted for compatibility with Horovod and ignored: there are no cycles.
    """
    _require_running()
    _comm.start_timeline(str(file_path))


def stop_timeline():
    """Stop recording and write the timeline of all ranks to one file. Collective: all ranks must call it."""
    _require_running()
    _comm.stop_timeline()


def mpi_threads_supported():
    """Return True: MPI calls of the program never interfere with those of the library."""
    return True


def mpi_enabled():
    """Return whether an MPI launcher started the job."""
    return any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"))


def mpi_built():
    """Return True: the library can use MPI."""
    return True


def gloo_enabled():
    """Return False: Gloo is not used."""
    return False


def gloo_built():
    """Return False: Gloo is not used."""
    return False


def nccl_built():
    """Return 0: the Python modules use host memory."""
    return 0


def ddl_built():
    """Return True: this library implements DDL."""
    return True


def ccl_built():
    """Return False: oneCCL is not used."""
    return False


def cuda_built():
    """Return False: the Python modules use host memory."""
    return False


def rocm_built():
    """Return False: the Python modules use host memory."""
    return False
