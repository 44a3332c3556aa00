"""Models, optimizers and objects that start alike on all ranks."""

import io
import pickle

import torch

try:
    import cloudpickle as pickler  # takes functions and classes of the script itself too
except ImportError:
    pickler = pickle

from tutti.horovod import basics
from tutti.horovod.basics import global_process_set
from tutti.horovod.torch.movement import allgather, broadcast_, broadcast_async_
from tutti.horovod.torch.ops import synchronize


def broadcast_parameters(params, root_rank, process_set=global_process_set):
    """All ranks take the values of rank `root_rank`.

    params: a state_dict, or a list of parameters or of pairs (name, parameter).
    """
    if isinstance(params, dict):
        pairs = sorted(params.items())
    elif isinstance(params, (list, tuple)) or hasattr(params, "__next__"):
        pairs = [p if isinstance(p, tuple) else (None, p) for p in params]
    else:
        raise ValueError(f"DDL-4-94 Parameters of type {type(params).__name__}: give a state_dict or a list.")
    late, handles = [], []
    for name, p in pairs:
        if p is None or not torch.is_tensor(p):
            continue  # a state_dict may hold other things
        tensor = p.data if isinstance(p, torch.nn.Parameter) else p.detach()
        if not tensor.is_contiguous():
            copy = tensor.contiguous()
            late.append((tensor, copy))
            tensor = copy
        handles.append(broadcast_async_(tensor, root_rank, None if name is None else f"parameter.{name}", process_set))
    for handle in handles:
        synchronize(handle)
    for tensor, copy in late:
        tensor.copy_(copy)


def broadcast_optimizer_state(optimizer, root_rank, model=None, process_set=global_process_set):
    """All ranks take the state of the optimizer of rank `root_rank`: learning rates, momenta, counts of steps."""
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("DDL-4-95 The state of LBFGS cannot be sent: it is no set of tensors.")
    state = optimizer.state_dict()
    is_root = basics.rank() == root_rank
    skeleton, tensors = _without_tensors(state) if is_root else (None, None)
    skeleton = broadcast_object(skeleton, root_rank, "optimizer_state", process_set)
    if not is_root:
        tensors = [torch.empty(shape, dtype=dtype) for shape, dtype in _shapes(skeleton)]
    broadcast_parameters(tensors, root_rank, process_set)
    if not is_root:
        optimizer.load_state_dict(_with_tensors(skeleton, iter(tensors)))


class _Place:
    """Stands where a tensor was."""

    def __init__(self, tensor):
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype


def _without_tensors(value):
    tensors = []

    def walk(part):
        if torch.is_tensor(part):
            tensors.append(part.detach().contiguous())
            return _Place(part)
        return _rebuilt(part, walk)

    return walk(value), tensors


def _shapes(value):
    found = []

    def walk(part):
        if isinstance(part, _Place):
            found.append((part.shape, part.dtype))
        return _rebuilt(part, walk)

    walk(value)
    return found


def _with_tensors(value, tensors):
    def walk(part):
        return next(tensors) if isinstance(part, _Place) else _rebuilt(part, walk)

    return walk(value)


def _rebuilt(part, walk):
    if isinstance(part, dict):
        return {key: walk(item) for key, item in part.items()}
    if isinstance(part, (list, tuple)) and not hasattr(part, "_fields"):
        return type(part)(walk(item) for item in part)
    return part


def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """The object of rank `root_rank`; anything that can be pickled, by cloudpickle where it is installed."""
    is_root = basics.rank() == root_rank
    data = _pickled(obj) if is_root else torch.empty(0, dtype=torch.uint8)
    length = torch.tensor([data.numel()])
    broadcast_(length, root_rank, None if name is None else f"{name}.length", process_set)
    if not is_root:
        data = torch.empty(int(length), dtype=torch.uint8)
    broadcast_(data, root_rank, None if name is None else f"{name}.bytes", process_set)
    return obj if is_root else pickle.loads(data.numpy().tobytes())


def allgather_object(obj, name=None, process_set=global_process_set):
    """The objects of all ranks, by rank."""
    data = _pickled(obj)
    lengths = allgather(torch.tensor([data.numel()]), None if name is None else f"{name}.length", process_set)
    whole = allgather(data, None if name is None else f"{name}.bytes", process_set)
    return [pickle.loads(part.numpy().tobytes()) for part in whole.split(lengths.tolist())]


def _pickled(obj):
    stream = io.BytesIO()
    pickler.dump(obj, stream, protocol=pickle.HIGHEST_PROTOCOL)
    return torch.frombuffer(bytearray(stream.getvalue()), dtype=torch.uint8)
