"""The job this process belongs to, as ddlrun, mpirun, srun or RANK and WORLD_SIZE started it.

`ddl`, `pyddl` and `tutti.horovod` all mean this one job: whichever begins it first.
"""

import atexit

from tutti import _comm
from tutti._comm import CommError, ConfigError, Error, IoError, MemoryError, TimeoutError  # noqa: A004

__all__ = ["CommError", "ConfigError", "Error", "IoError", "MemoryError", "TimeoutError", "begin", "end", "ensure"]

_is_registered = False


def begin(options=""):
    """Joins the job; all ranks must call it. `options`: "-mode p:2x2x1x1 -check 1". A second call does nothing."""
    global _is_registered
    if not _is_registered:
        atexit.register(end)
        _is_registered = True
    _comm.begin(options or "")


def end():
    """Leaves the job; waits for the other ranks. Done at the end of the program too."""
    _comm.end()


def ensure():
    """Begins the job if nobody has."""
    if not _comm.is_running():
        begin()
