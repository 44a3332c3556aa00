"""Who this process is, reductions by name, process sets, the timeline: the part of Horovod that needs no framework."""

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

# What Horovod's own variables mean here.
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
# Values that have a meaning of their own in Horovod; None: as if it were not set.
_VALUES = {
    ("HOROVOD_FUSION_THRESHOLD", "0"): "1",  # every tensor alone
    ("HOROVOD_TIMELINE", "DYNAMIC"): None,  # start_timeline always works
    ("HOROVOD_STALL_CHECK_DISABLE", "0"): None,
    ("HOROVOD_STALL_CHECK_DISABLE", "1"): "1e6",
    ("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "0"): None,
}


class ReduceOp:
    """Average, Sum, Adasum, Min, Max or Product."""

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
    """Some ranks of the job, which call collectives among themselves."""

    def __init__(self, ranks=None):
        try:
            self.ranks = None if ranks is None else sorted({operator.index(rank) for rank in ranks})
        except TypeError as error:
            raise ValueError(f"DDL-4-84 A process set is a list of ranks, not {ranks!r}.") from error
        self.process_set_id = None

    def included(self):
        """Whether this rank is in it; None before it was added."""
        return None if self.process_set_id is None else rank() in self.ranks

    def rank(self):
        """The number of this process among the set's ranks; None if it is not one of them."""
        return self.ranks.index(rank()) if self.included() else None

    def size(self):
        """How many ranks the set has; None before it was added."""
        return None if self.process_set_id is None else len(self.ranks)

    def __eq__(self, other):
        return isinstance(other, ProcessSet) and self.ranks == other.ranks

    def __hash__(self):
        return hash(tuple(self.ranks or ()))

    def __str__(self):
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"

    def _id(self):
        if self.process_set_id is None:
            raise ValueError("DDL-4-84 This process set is not part of the job: give it to init() or add_process_set().")
        return self.process_set_id


global_process_set = ProcessSet()
_sets = {}  # by id: all objects that mean this set


def init(comm=None, process_sets=None):
    """Joins the job as the launcher started it; all ranks call it. A second call does nothing.

    comm: None, or all ranks as a list or an mpi4py communicator. process_sets: ProcessSets or lists of ranks, the same on all
    ranks; those that name the ranks of another one mean that one.
    """
    if is_initialized() and global_process_set.process_set_id is not None:
        return
    _take_over_variables()
    job.begin()
    ranks = getattr(comm, "Get_size", lambda: len(comm or []))()
    if ranks not in (0, size()):
        raise ValueError("DDL-4-88 init(comm=...) with some ranks only: use process_sets for them.")
    global_process_set.ranks = list(range(size()))
    _remember(global_process_set, 0)
    for process_set in process_sets or []:
        if isinstance(process_set, str):
            continue  # "dynamic": they always are
        process_set = _as_process_set(process_set)
        there = _id_of(process_set.ranks)
        if there is None:
            add_process_set(process_set)
        else:
            _remember(process_set, there)


def _take_over_variables():
    for theirs, ours in _VARIABLES.items():
        value = os.environ.get(theirs, "")
        value = _VALUES.get((theirs, value), value)
        if value and not os.environ.get(ours):
            os.environ[ours] = value


def shutdown():
    """Leaves the job; waits for the other ranks. Done at the end of the program too."""
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
    """Whether this process is in the job."""
    return _comm.is_running()


def _running():
    if not _comm.is_running():
        raise ValueError("DDL-4-60 The job has not begun: call hvd.init() first.")


def rank():
    """The number of this process in the job, from 0."""
    _running()
    return _comm.rank()


def size():
    """How many processes the job has."""
    _running()
    return _comm.size()


def local_rank():
    """The number of this process among those of its host."""
    _running()
    return _comm.local_rank()


def local_size():
    """How many processes of the job are on this host."""
    _running()
    return _comm.local_size()


def cross_rank():
    """The number of this host among those that have a process with this local rank."""
    _running()
    return _same_local_rank().index(_comm.hosts()[_comm.rank()])


def cross_size():
    """How many hosts have a process with this local rank."""
    _running()
    return len(_same_local_rank())


def _same_local_rank():
    hosts = _comm.hosts()
    return [host for host in range(max(hosts) + 1) if hosts.count(host) > _comm.local_rank()]


def is_homogeneous():
    """Whether all hosts have the same number of processes."""
    _running()
    hosts = _comm.hosts()
    return len({hosts.count(host) for host in hosts}) == 1


def add_process_set(process_set):
    """Makes a ProcessSet, or a list of ranks, part of the job; all ranks of the job call it. Gives the ProcessSet."""
    _running()
    process_set = _as_process_set(process_set)
    if process_set.process_set_id is not None or _id_of(process_set.ranks) is not None:
        raise ValueError(f"DDL-4-89 There is a process set of the ranks {process_set.ranks} already.")
    _remember(process_set, _comm.add_process_set(process_set.ranks))
    return process_set


def remove_process_set(process_set):
    """Takes a process set out of the job; all ranks of the job call it. Whether there was something to do."""
    _running()
    if process_set.process_set_id in (None, 0):
        return False
    _comm.remove_process_set(process_set.process_set_id)
    _forget(process_set.process_set_id)
    return True


def start_timeline(file_path, mark_cycles=False):
    """From here on what happens to each tensor is written down; all ranks call it. `mark_cycles`: there are no cycles to mark."""
    _running()
    _comm.start_timeline(str(file_path))


def stop_timeline():
    """Writes the timeline, one file with all ranks; all ranks call it."""
    _running()
    _comm.stop_timeline()


def mpi_threads_supported():
    """Always: messages of the program's own MPI calls and of the library never meet."""
    return True


def mpi_enabled():
    """Whether a launcher of MPI started the job."""
    return any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"))


def mpi_built():
    """Whether the library has MPI."""
    return True


def gloo_enabled():
    """Gloo is not used."""
    return False


def gloo_built():
    """Gloo is not used."""
    return False


def nccl_built():
    """The Python modules work on host memory."""
    return 0


def ddl_built():
    """This is DDL."""
    return True


def ccl_built():
    """oneCCL is not used."""
    return False


def cuda_built():
    """The Python modules work on host memory."""
    return False


def rocm_built():
    """The Python modules work on host memory."""
    return False
