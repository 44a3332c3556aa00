"""Exceptions raised by the Horovod modules."""

import contextlib

from tutti.job import CommError, IoError, MemoryError, TimeoutError  # noqa: A004


class HorovodInternalError(RuntimeError):
    """A collective failed, because the ranks disagree or a rank has exited. The message names the rank."""


class HostsUpdatedInterrupt(RuntimeError):
    """The hosts of the job have changed. Never raised; provided for programs that catch it."""

    def __init__(self, skip_sync=False):
        super().__init__("the hosts of the job have changed")
        self.skip_sync = skip_sync


@contextlib.contextmanager
def as_horovod():
    """Convert communication errors to HorovodInternalError."""
    try:
        yield
    except (CommError, TimeoutError, MemoryError, IoError) as error:
        raise HorovodInternalError(str(error)) from error
