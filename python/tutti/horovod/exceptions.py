"""What Horovod programs catch."""

import contextlib

from tutti.job import CommError, IoError, MemoryError, TimeoutError  # noqa: A004


class HorovodInternalError(RuntimeError):
    """A collective failed: ranks disagree, or one of them is gone. The message says which."""


class HostsUpdatedInterrupt(RuntimeError):
    """The hosts of the job have changed."""

    def __init__(self, skip_sync=False):
        super().__init__("the hosts of the job have changed")
        self.skip_sync = skip_sync


@contextlib.contextmanager
def as_horovod():
    """What the library throws becomes what Horovod programs catch."""
    try:
        yield
    except (CommError, TimeoutError, MemoryError, IoError) as error:
        raise HorovodInternalError(str(error)) from error
