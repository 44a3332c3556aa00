"""The job this process belongs to, as ddlrun, mpirun, srun or RANK and WORLD_SIZE started it.

`ddl`, `pyddl` and `tutti.horovod` all mean this one job: whichever begins it first.
"""

import atexit
import sys

from tutti import _comm
from tutti._comm import CommError, ComputeError, ConfigError, Error, IoError, MemoryError, TimeoutError  # noqa: A004

__all__ = [
    "CommError", "ComputeError", "ConfigError", "Error", "IoError", "MemoryError", "TimeoutError", "begin", "end", "ensure"]

_is_registered = False


def begin(options=""):
    """Joins the job; all ranks must call it. `options`: "-mode p:2x2x1x1 -check 1". A second call does nothing."""
    global _is_registered
    if not _is_registered:
        atexit.register(_end_of_program)
        _is_registered = True
    _comm.begin(options or "")


def end():
    """Leaves the job; waits for the other ranks. Done at the end of the program too."""
    _comm.end()


def failure_of_program():
    """What ends this program, if it is an exception that nobody has caught; for what is done at its end."""
    error = getattr(sys, "last_value", None)
    return None if error is None else f"{type(error).__name__}: {error}"


def _end_of_program():
    """The other ranks do not come to their end when this one fails: they are told, and not waited for."""
    reason = failure_of_program()
    if reason and _comm.is_running():
        _comm.abandon(reason)
    end()


def ensure():
    """Begins the job if nobody has."""
    if not _comm.is_running():
        begin()
