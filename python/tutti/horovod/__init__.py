"""Horovod's API on Tutti's collectives.

In a Horovod script only the import changes:

    import tutti.horovod.torch as hvd
"""

from tutti.horovod.basics import *  # noqa: F403
from tutti.horovod.exceptions import HorovodInternalError, HostsUpdatedInterrupt  # noqa: F401
