"""Loaders of distributed data: a file name in, this rank's share of its rows out."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from snap_ml_mpi.ranks import ranks
from tutti.learn import data

__all__ = ["DistributedData", "load_from_data_file", "load_from_libsvm_format", "load_from_snap_format", "load_from_svmlight_format"]


@dataclass
class DistributedData:
    """The rows of this rank: features, labels, and how many rows all ranks have."""

    X: object
    y: np.ndarray
    total_rows: int


def _share(X, y):
    me = ranks()
    begin, end = X.shape[0] * me.rank // me.size, X.shape[0] * (me.rank + 1) // me.size
    return DistributedData(X[begin:end], y[begin:end], X.shape[0])


def load_from_libsvm_format(path, num_ft=None, num_chunks=1):
    """A file in libsvm's format. `num_chunks` is accepted and decides nothing."""
    X, y = data.load_svmlight_file(path, num_ft)
    return _share(X, y)


load_from_svmlight_format = load_from_libsvm_format


def load_from_snap_format(path, num_chunks=1):
    """A file in the known binary layout; see docs/formats/snap.md."""
    X, y = data.load_snap_file(path)
    return _share(X, y)


def load_from_data_file(path, streamed=False):
    """One of our own data files; each rank reads its chunks only. `streamed`: not before they are needed, for linear estimators with a
    `memory_limit`. See docs/formats/data.md."""
    me = ranks()
    file, total = data.DataFile(path, me.rank, me.size), data.DataFile(path).shape[0]
    if streamed:
        return DistributedData(file, file.handle.labels(), total)
    X, y, _ = file.read()
    return DistributedData(X, np.empty(0) if y is None else y, total)
