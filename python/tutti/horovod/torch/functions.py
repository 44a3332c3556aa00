"""Broadcast of models, optimizer states and Python objects."""

import io
import pickle

import torch

try:
    import cloudpickle as pickler  # also serialises functions and classes of the script itself
except ImportError:
    pickler = pickle

from tutti.horovod import basics
from tutti.horovod.basics import global_process_set
from tutti.horovod.torch.movement import allgather, broadcast_, broadcast_async_
from tutti.horovod.torch.ops import synchronize


def broadcast_parameters(params, root_rank, process_set=global_process_set):
    """Broadcast parameters from rank `root_rank` to all ranks, in place.

    Parameters
    ----------
    params : dict, list or iterator
        A `state_dict`, a list of parameters, or pairs (name, parameter) as from `model.named_parameters()`. Values that
        are not tensors are ignored.
    root_rank : int
        Rank whose values are sent.
    process_set : ProcessSet, optional
        Participating ranks.

    Raises
    ------
    ValueError
        If `params` is of another type.

    Examples
    --------
    >>> import torch, tutti.horovod.torch as hvd
    >>> hvd.init()
    >>> hvd.broadcast_parameters(torch.nn.Linear(2, 1).state_dict(), root_rank=0)
    """
    if isinstance(params, dict):
        pairs = sorted(params.items())
    elif isinstance(params, (list, tuple)) or hasattr(params, "__next__"):
        pairs = [p if isinstance(p, tuple) else (None, p) for p in params]
    else:
        raise ValueError(f"DDL-4-94 Unsupported type of parameters: {type(params).__name__}. Pass a state_dict or a list.")
    late, handles = [], []
    for name, p in pairs:
        if p is None or not torch.is_tensor(p):
            continue  # a state_dict may contain other values
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
    """Broadcast the optimizer state of rank `root_rank` to all ranks: learning rates, momentum buffers and step counts.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        Optimizer whose state is replaced on all other ranks.
    root_rank : int
        Rank whose state is sent.
    model : torch.nn.Module, optional
        Accepted for compatibility with Horovod and ignored.
    process_set : ProcessSet, optional
        Participating ranks.

    Raises
    ------
    ValueError
        For `torch.optim.LBFGS`.
    """
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("DDL-4-95 The state of LBFGS cannot be broadcast. Use another optimizer.")
    state = optimizer.state_dict()
    is_root = basics.rank() == root_rank
    skeleton, tensors = _without_tensors(state) if is_root else (None, None)
    skeleton = broadcast_object(skeleton, root_rank, "optimizer_state", process_set)
    if not is_root:
        tensors = [torch.empty(shape, dtype=dtype) for shape, dtype in _shapes(skeleton)]
    broadcast_parameters(tensors, root_rank, process_set)
    if not is_root:
        optimizer.load_state_dict(_with_tensors(skeleton, iter(tensors)))


class _Placeholder:
    """Placeholder for a tensor in a state that was separated from its tensors."""

    def __init__(self, tensor):
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype


def _without_tensors(value):
    """Return a copy of a nested state with placeholders instead of tensors, and the tensors."""
    tensors = []

    def walk(part):
        if torch.is_tensor(part):
            tensors.append(part.detach().contiguous())
            return _Placeholder(part)
        return _map_members(part, walk)

    return walk(value), tensors


def _shapes(value):
    """Return (shape, dtype) of all placeholders in a nested state."""
    found = []

    def walk(part):
        if isinstance(part, _Placeholder):
            found.append((part.shape, part.dtype))
        return _map_members(part, walk)

    walk(value)
    return found


def _with_tensors(value, tensors):
    """Return a copy of a nested state with tensors instead of placeholders."""
    def walk(part):
        return next(tensors) if isinstance(part, _Placeholder) else _map_members(part, walk)

    return walk(value)


def _map_members(part, walk):
    """Apply `walk` to the members of a container; return other values unchanged."""
    if isinstance(part, dict):
        return {key: walk(item) for key, item in part.items()}
    if isinstance(part, (list, tuple)) and not hasattr(part, "_fields"):
        return type(part)(walk(item) for item in part)
    return part


def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """Broadcast a Python object from rank `root_rank` to all ranks.

    Parameters
    ----------
    obj : object
        Any object that pickle, or cloudpickle if installed, can serialise. Used on `root_rank` only.
    root_rank : int, optional
        Rank whose object is sent.
    name : str, optional
        Name of the operation.
    process_set : ProcessSet, optional
        Participating ranks.

    Returns
    -------
    object
        The object of rank `root_rank`.
    """
    is_root = basics.rank() == root_rank
    data = _pickled(obj) if is_root else torch.empty(0, dtype=torch.uint8)
    length = torch.tensor([data.numel()])
    broadcast_(length, root_rank, None if name is None else f"{name}.length", process_set)
    if not is_root:
        data = torch.empty(int(length), dtype=torch.uint8)
    broadcast_(data, root_rank, None if name is None else f"{name}.bytes", process_set)
    return obj if is_root else pickle.loads(data.numpy().tobytes())


def allgather_object(obj, name=None, process_set=global_process_set):
    """Gather a Python object from every rank.

    Parameters
    ----------
    obj : object
        Any object that pickle, or cloudpickle if installed, can serialise.
    name : str, optional
        Name of the operation.
    process_set : ProcessSet, optional
        Participating ranks.

    Returns
    -------
    list
        The objects of all ranks, in rank order.

    Examples
    --------
    >>> import tutti.horovod.torch as hvd
    >>> hvd.init()
    >>> hvd.allgather_object({"rank": hvd.rank()})
    [{'rank': 0}]
    """
    data = _pickled(obj)
    lengths = allgather(torch.tensor([data.numel()]), None if name is None else f"{name}.length", process_set)
    whole = allgather(data, None if name is None else f"{name}.bytes", process_set)
    return [pickle.loads(part.numpy().tobytes()) for part in whole.split(lengths.tolist())]


def _pickled(obj):
    stream = io.BytesIO()
    pickler.dump(obj, stream, protocol=pickle.HIGHEST_PROTOCOL)
    return torch.frombuffer(bytearray(stream.getvalue()), dtype=torch.uint8)
