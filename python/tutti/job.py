"""The job this process belongs to, and the exceptions of the library.

A job is the set of ranks started by ddlrun, mpirun or srun, or by hand with RANK and WORLD_SIZE. Without any of
them the job has one rank. `ddl`, `pyddl` and `tutti.horovod` share one job per process; the first of them to be
initialised joins it.
"""

import atexit
import sys

from tutti import _comm
from tutti._comm import CommError, ComputeError, ConfigError, Error, IoError, MemoryError, TimeoutError  # noqa: A004

__all__ = [
    "CommError", "ComputeError", "ConfigError", "Error", "IoError", "MemoryError", "TimeoutError", "begin", "end", "ensure"]

_is_registered = False


def begin(options=""):
    """Join the job. Collective: all ranks must call it.

    A second call has no effect.

    Parameters
    ----------
    options : str, optional
        Communicator options in the syntax of DDL_OPTIONS, for example "-mode p:2x2x1x1 -check 1". They override
        DDL_OPTIONS.

    Raises
    ------
    ConfigError
        If an option is unknown or has an invalid value.
    CommError, TimeoutError
        If another rank cannot be reached, or does not join in time.
    """
    global _is_registered
    if not _is_registered:
        atexit.register(_end_of_program)
        _is_registered = True
    _comm.begin(options or "")


def end():
    """Leave the job after all other ranks have called it.

    Registered with `atexit` by `begin`, so a program rarely needs to call it. Without a job it has no effect.
    """
    _comm.end()


def failure_of_program():
    """Return the uncaught exception that is ending the program as text, or None. For `atexit` handlers."""
    error = getattr(sys, "last_value", None)
    return None if error is None else f"{type(error).__name__}: {error}"


def _end_of_program():
    """Leave the job at exit. If the program failed, notify the other ranks instead of waiting for them."""
    reason = failure_of_program()
    if reason and _comm.is_running():
        _comm.abandon(reason)
    end()


def ensure():
    """Join the job unless this process has already joined it."""
    if not _comm.is_running():
        begin()
