"""Loaders of distributed data: every rank gets a contiguous part of the rows of a file."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from snap_ml_mpi.ranks import ranks
from tutti.learn import data

__all__ = ["DistributedData", "load_from_data_file", "load_from_libsvm_format", "load_from_snap_format", "load_from_svmlight_format"]


@dataclass
class DistributedData:
    """The rows of this rank.

    Attributes
    ----------
    X : array, sparse matrix or DataFile
        Features.
    y : ndarray
        Labels.
    total_rows : int
        Number of rows on all ranks.
    """

    X: object
    y: np.ndarray
    total_rows: int


def _share(X, y):
    """Return the rows of this rank."""
    me = ranks()
    begin, end = X.shape[0] * me.rank // me.size, X.shape[0] * (me.rank + 1) // me.size
    return DistributedData(X[begin:end], y[begin:end], X.shape[0])


def load_from_libsvm_format(path, num_ft=None, num_chunks=1):
    """Read the rows of this rank from a file in libsvm format.

    Parameters
    ----------
    path : str or path-like
        File to read.
    num_ft : int, optional
        Number of columns; by default the largest index.
    num_chunks : int, optional
        Accepted for compatibility and ignored.

    Returns
    -------
    DistributedData
        The rows of this rank.
    """
    X, y = data.load_svmlight_file(path, num_ft)
    return _share(X, y)


load_from_svmlight_format = load_from_libsvm_format


def load_from_snap_format(path, num_chunks=1):
    """Read the rows of this rank from a file in Snap ML's binary format; see docs/formats/snap.md.

    Parameters
    ----------
    path : str or path-like
        File to read.
    num_chunks : int, optional
        Accepted for compatibility and ignored.

    Returns
    -------
    DistributedData
        The rows of this rank.
    """
    X, y = data.load_snap_file(path)
    return _share(X, y)


def load_from_data_file(path, streamed=False):
    """Read the chunks of this rank from a data file in the native format; see docs/formats/data.md.

    Parameters
    ----------
    path : str or path-like
        File to read.
    streamed : bool, optional
        Read the chunks on demand, for linear estimators with a `memory_limit`.

    Returns
    -------
    DistributedData
        The rows of this rank.
    """
    me = ranks()
    file, total = data.DataFile(path, me.rank, me.size), data.DataFile(path).shape[0]
    if streamed:
        return DistributedData(file, file.handle.labels(), total)
    X, y, _ = file.read()
    return DistributedData(X, np.empty(0) if y is None else y, total)
