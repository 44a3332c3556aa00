"""Communicator of the job, created on first use, and collectives on Python objects."""

import pickle

import numpy as np

from tutti import _learn

_ranks = None


def ranks():
    """Return the communicator of the job."""
    global _ranks
    if _ranks is None:
        _ranks = _learn.Ranks()
    return _ranks


def classes_of(labels, find=np.unique):
    """Return the sorted distinct labels of all ranks. `find` returns those of one rank."""
    if ranks().size == 1:
        return find(labels)
    try:
        own = find(labels)
    except (TypeError, ValueError) as error:
        own = error
    parts = gather_objects(own)
    # All ranks raise if one of them failed, so none blocks in the next collective.
    for rank, part in enumerate(parts):
        if isinstance(part, Exception):
            raise ValueError(f"labels of rank {rank}: {part}")
    parts = [part for part in parts if len(part)] or parts
    if len({part.dtype.kind in "biuf" for part in parts}) > 1:
        raise ValueError("labels are numbers on some ranks and not on others")
    return np.unique(np.concatenate(parts))


def gather(values):
    """Concatenate the values of all ranks, in rank order. All ranks pass the same number of values."""
    me = ranks()
    table = np.zeros((me.size, len(values)))
    table[me.rank] = values
    return me.sum(table.ravel())


def gather_objects(value):
    """Gather a small Python object from every rank, in rank order."""
    own = np.frombuffer(pickle.dumps(value), dtype=np.uint8)
    sizes = gather([len(own)]).astype(int)
    table = gather(np.pad(own, (0, sizes.max() - len(own))).astype(np.float64)).reshape(len(sizes), -1)
    return [pickle.loads(row[:size].astype(np.uint8).tobytes()) for row, size in zip(table, sizes)]


def with_empty_ranks(options, is_distributed):
    """Return options of `_validate_data` that accept a rank without rows, as long as another rank has some."""
    return {**options, "ensure_min_samples": 0} if is_distributed else options


def from_first(value):
    """Return the number of rank 0 on every rank."""
    return gather([value])[0]
