"""Who this process is, reductions by name, process sets, the timeline: the part of Horovod that needs no framework."""

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
        # mpi4py communicators are not taken: say the ranks.
        self.ranks = None if ranks is None else sorted(set(int(rank) for rank in ranks))
        self.process_set_id = None

    def included(self):
        """Whether this rank is in it; None before it was added."""
        return None if self.process_set_id is None else rank() in self.ranks

    def rank(self):
        """The number of this process among the set's ranks."""
        return self.ranks.index(rank())

    def size(self):
        """How many ranks the set has."""
        return len(self.ranks)

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


def init(comm=None, process_sets=None):
    """Joins the job as the launcher started it; all ranks call it. A second call does nothing.

    comm: None or a list of ranks, of which there must be all. process_sets: ProcessSets or lists of ranks, the same on all ranks.
    """
    if is_initialized():
        return
    for theirs, ours in _VARIABLES.items():
        if os.environ.get(theirs) and not os.environ.get(ours):
            os.environ[ours] = os.environ[theirs]
    job.begin()
    if isinstance(comm, (list, tuple)) and sorted(comm) not in ([], list(range(size()))):
        raise ValueError("DDL-4-88 init(comm=...) with some ranks only: use process_sets for them.")
    global_process_set.ranks, global_process_set.process_set_id = list(range(size())), 0
    for process_set in process_sets or []:
        if isinstance(process_set, str):
            continue  # "dynamic": they always are
        add_process_set(process_set)


def shutdown():
    """Leaves the job; waits for the other ranks. Done at the end of the program too."""
    job.end()
    global_process_set.ranks = global_process_set.process_set_id = None


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
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    if process_set.process_set_id is not None or process_set.ranks in _comm.process_sets().values():
        raise ValueError(f"DDL-4-89 There is a process set of the ranks {process_set.ranks} already.")
    process_set.process_set_id = _comm.add_process_set(process_set.ranks)
    return process_set


def remove_process_set(process_set):
    """Takes a process set out of the job; all ranks of the job call it. Whether there was something to do."""
    _running()
    if process_set.process_set_id in (None, 0):
        return False
    _comm.remove_process_set(process_set.process_set_id)
    process_set.process_set_id = None
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
