from typing import Callable

from torch import Tensor
from torch.distributed import GradBucket, ProcessGroup
from torch.futures import Future
from torch.nn import Parameter
from torch.optim import Optimizer

_Hook = Callable[[ProcessGroup | None, GradBucket], Future[Tensor]]

bf16_wire_hook: _Hook
int8_wire_hook: _Hook

def shared_memory_hook(state: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]: ...
def bf16_hook(state: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]: ...
def wire_hook(form: str) -> _Hook: ...
def step_hook(make_optimizer: Callable[[list[Parameter]], Optimizer], form: str = "none") -> _Hook: ...
