from typing import Any, Generic, Iterable, Mapping, Sequence, TypeVar

from torch import Tensor
from torch.nn import Module
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from tutti.horovod.basics import *
from tutti.horovod.basics import ReduceOp
from tutti.horovod.exceptions import HorovodInternalError as HorovodInternalError
from tutti.horovod.exceptions import HostsUpdatedInterrupt as HostsUpdatedInterrupt
from tutti.horovod.torch import elastic as elastic
from tutti.horovod.torch.compression import Compression as Compression
from tutti.horovod.torch.compression import Compressor

_Object = TypeVar("_Object")
_Result = TypeVar("_Result")

class Handle(Generic[_Result]):
    def is_complete(self) -> bool: ...
    def result(self) -> _Result: ...

class SyncBatchNorm(_BatchNorm): ...

def poll(handle: Handle[_Result]) -> bool: ...
def synchronize(handle: Handle[_Result]) -> _Result: ...
def allreduce_async(
    tensor: Tensor,
    average: bool | None = None,
    name: str | None = None,
    op: ReduceOp | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = ...,
) -> Handle[Tensor]: ...
def allreduce_async_(
    tensor: Tensor,
    average: bool | None = None,
    name: str | None = None,
    op: ReduceOp | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = ...,
) -> Handle[Tensor]: ...
def allreduce_(
    tensor: Tensor,
    average: bool | None = None,
    name: str | None = None,
    op: ReduceOp | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = ...,
) -> Tensor: ...
def allreduce(
    tensor: Tensor,
    average: bool | None = None,
    name: str | None = None,
    compression: type[Compressor] = ...,
    op: ReduceOp | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = ...,
) -> Tensor: ...
def grouped_allreduce(
    tensors: Sequence[Tensor],
    average: bool | None = None,
    name: str | None = None,
    compression: type[Compressor] = ...,
    op: ReduceOp | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = ...,
) -> list[Tensor]: ...
def grouped_allreduce_async(
    tensors: Sequence[Tensor],
    average: bool | None = None,
    name: str | None = None,
    op: ReduceOp | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = ...,
) -> Handle[list[Tensor]]: ...
def grouped_allreduce_async_(
    tensors: Sequence[Tensor],
    average: bool | None = None,
    name: str | None = None,
    op: ReduceOp | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = ...,
) -> Handle[list[Tensor]]: ...
def grouped_allreduce_(
    tensors: Sequence[Tensor],
    average: bool | None = None,
    name: str | None = None,
    op: ReduceOp | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = ...,
) -> list[Tensor]: ...
def grouped_allgather_async(
    tensors: Sequence[Tensor],
    name: str | None = None,
    process_set: ProcessSet = ...,
) -> Handle[list[Tensor]]: ...
def allgather_async(tensor: Tensor, name: str | None = None, process_set: ProcessSet = ...) -> Handle[Tensor]: ...
def sparse_allreduce_async(
    tensor: Tensor,
    name: str,
    op: ReduceOp,
    process_set: ProcessSet = ...,
) -> Handle[Tensor]: ...
def allgather(tensor: Tensor, name: str | None = None, process_set: ProcessSet = ...) -> Tensor: ...
def grouped_allgather(
    tensors: Sequence[Tensor],
    name: str | None = None,
    process_set: ProcessSet = ...,
) -> list[Tensor]: ...
def broadcast_async(
    tensor: Tensor,
    root_rank: int,
    name: str | None = None,
    process_set: ProcessSet = ...,
) -> Handle[Tensor]: ...
def broadcast_async_(
    tensor: Tensor,
    root_rank: int,
    name: str | None = None,
    process_set: ProcessSet = ...,
) -> Handle[Tensor]: ...
def broadcast_(tensor: Tensor, root_rank: int, name: str | None = None, process_set: ProcessSet = ...) -> Tensor: ...
def broadcast(tensor: Tensor, root_rank: int, name: str | None = None, process_set: ProcessSet = ...) -> Tensor: ...
def alltoall_async(
    tensor: Tensor,
    splits: Sequence[int] | Tensor | None = None,
    name: str | None = None,
    process_set: ProcessSet = ...,
) -> Handle[tuple[Tensor, Tensor]]: ...
def alltoall(
    tensor: Tensor,
    splits: Sequence[int] | Tensor | None = None,
    name: str | None = None,
    process_set: ProcessSet = ...,
) -> Tensor | tuple[Tensor, Tensor]: ...
def grouped_reducescatter_async(
    tensors: Sequence[Tensor],
    name: str | None = None,
    op: ReduceOp = ...,
    process_set: ProcessSet = ...,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Handle[list[Tensor]]: ...
def reducescatter_async(
    tensor: Tensor,
    name: str | None = None,
    op: ReduceOp = ...,
    process_set: ProcessSet = ...,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Handle[Tensor]: ...
def reducescatter(
    tensor: Tensor,
    name: str | None = None,
    compression: type[Compressor] = ...,
    op: ReduceOp = ...,
    process_set: ProcessSet = ...,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Tensor: ...
def grouped_reducescatter(
    tensors: Sequence[Tensor],
    name: str | None = None,
    compression: type[Compressor] = ...,
    op: ReduceOp = ...,
    process_set: ProcessSet = ...,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> list[Tensor]: ...
def barrier(process_set: ProcessSet = ...) -> None: ...
def join(device: int = -1) -> int: ...
def broadcast_parameters(
    params: Mapping[str, Any] | Iterable[Any],
    root_rank: int,
    process_set: ProcessSet = ...,
) -> None: ...
def broadcast_optimizer_state(
    optimizer: Optimizer,
    root_rank: int,
    model: Module | None = None,
    process_set: ProcessSet = ...,
) -> None: ...
def broadcast_object(
    obj: _Object,
    root_rank: int = 0,
    name: str | None = None,
    process_set: ProcessSet = ...,
) -> _Object: ...
def allgather_object(obj: _Object, name: str | None = None, process_set: ProcessSet = ...) -> list[_Object]: ...
def DistributedOptimizer(
    optimizer: Optimizer,
    named_parameters: Iterable[tuple[str, Tensor]] | None = None,
    compression: type[Compressor] = ...,
    backward_passes_per_step: int = 1,
    op: ReduceOp = ...,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: int | list[list[Tensor]] | None = None,
    sparse_as_dense: bool = False,
    process_set: ProcessSet = ...,
) -> Optimizer: ...
