"""Drop-in replacement for horovod.torch.

In a Horovod script only the import changes:

    import tutti.horovod.torch as hvd

Tensors must be in host memory. See docs/use/horovod.md.
"""

from tutti.horovod.basics import *  # noqa: F403
from tutti.horovod.exceptions import HorovodInternalError, HostsUpdatedInterrupt  # noqa: F401
from tutti.horovod.torch import elastic  # noqa: F401
from tutti.horovod.torch.compression import Compression  # noqa: F401
from tutti.horovod.torch.functions import (  # noqa: F401
    allgather_object,
    broadcast_object,
    broadcast_optimizer_state,
    broadcast_parameters,
)
from tutti.horovod.torch.movement import (  # noqa: F401
    allgather,
    allgather_async,
    alltoall,
    alltoall_async,
    barrier,
    broadcast,
    broadcast_,
    broadcast_async,
    broadcast_async_,
    grouped_allgather,
    grouped_allgather_async,
    join,
    sparse_allreduce_async,
)
from tutti.horovod.torch.ops import (  # noqa: F401
    allreduce,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    grouped_allreduce,
    grouped_allreduce_,
    grouped_allreduce_async,
    grouped_allreduce_async_,
    poll,
    synchronize,
)
from tutti.horovod.torch.optimizer import DistributedOptimizer  # noqa: F401
from tutti.horovod.torch.reducescatter import (  # noqa: F401
    grouped_reducescatter,
    grouped_reducescatter_async,
    reducescatter,
    reducescatter_async,
)
from tutti.horovod.torch.sync_batch_norm import SyncBatchNorm  # noqa: F401
