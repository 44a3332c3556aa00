"""Readers and writers of data files."""

import warnings

import numpy as np
import scipy.sparse as sp

from tutti import _learn
from tutti.learn.matrices import NO_WEIGHTS, as_matrix

__all__ = ["DataFile", "from_codes", "load_data_file", "load_file", "load_snap_file", "load_svmlight_file", "save_data_file", "write_snap_file"]


def _three(parts, weights, dtype):
    """Return (X, y, sample_weight) of decoded parts; None for empty labels or weights."""
    values = parts[6]
    X, y = _table(parts, dtype or (np.float32 if values is None else values.dtype))
    return X, (y if len(y) else None), (weights if len(weights) else None)


class DataFile:
    """A data file in the native format, opened but not read.

    Linear estimators accept it in place of X: `fit(DataFile(path))` takes labels and sample weights from the file,
    and with `memory_limit` streams the rows.

    Parameters
    ----------
    path : str or path-like
        File written by `save_data_file` or `tutti learn convert`.
    part, parts : int, optional
        Open only part `part` of `parts` contiguous ranges of chunks, for example one per rank.

    Attributes
    ----------
    shape : tuple of int
        (rows, columns).

    Examples
    --------
    >>> import numpy as np
    >>> from tutti.learn.data import DataFile, save_data_file
    >>> from tutti.learn.linear import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> save_data_file("rows.data", X, y)
    >>> file = DataFile("rows.data")
    >>> file.shape
    (4, 1)
    >>> LogisticRegression().fit(file).predict(file)
    array([0., 0., 1., 1.])
    """

    def __init__(self, path, part=0, parts=1):
        self.path = str(path)
        self._part = (part, parts)
        self.handle = _learn.DataFile(self.path, part, parts)
        self.shape = (self.handle.rows, self.handle.columns)
        self.first = _learn.DataFile(self.path).chunks * part // parts

    def __reduce__(self):
        return DataFile, (self.path, *self._part)

    def read(self, begin=0, end=-1):
        """Read chunks `begin` to `end` (exclusive; negative: all) and return (X, y, sample_weight)."""
        end = self.handle.chunks if end < 0 else min(end, self.handle.chunks)
        return load_data_file(self.path, chunks=(self.first + begin, self.first + end))

    def chunks(self):
        """Iterate over the chunks as (X, y, sample_weight)."""
        return (self.read(number, number + 1) for number in range(self.handle.chunks))


def _table(parts, dtype):
    """Return (X, labels) of decoded parts, with X as a dense array or a SciPy sparse matrix."""
    labels, rows, columns, storage, offsets, indices, values, has_unit_norm = parts
    if storage == "dense":
        return values.reshape(rows, columns).astype(dtype, copy=False), labels
    if values is None and has_unit_norm:
        counts = np.diff(offsets)
        values = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts).astype(dtype)
    elif values is None:
        values = np.ones(len(indices), dtype)
    kind = sp.csr_matrix if storage == "csr" else sp.csc_matrix
    return kind((values.astype(dtype, copy=False), indices, offsets), shape=(rows, columns), copy=False), labels


def load_svmlight_file(path, n_features=None, *, zero_based="auto", dtype=np.float32, n_jobs=None):
    r"""Read a file in svmlight or libsvm format, on all CPUs.

    Parameters
    ----------
    path : str or path-like
        File to read.
    n_features : int, optional
        Number of columns; by default the largest index.
    zero_based : bool or "auto", optional
        Whether column indices start at 0.
    dtype : data-type, optional
        Type of X: float32 or float64.
    n_jobs : int, optional
        Number of threads; None means all CPUs.

    Returns
    -------
    X : scipy.sparse.csr_matrix
        Features.
    y : ndarray of float64
        Labels.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tutti.learn.data import load_svmlight_file
    >>> _ = Path("rows.svm").write_text("1 1:0.5 3:2\n-1 2:1\n")
    >>> X, y = load_svmlight_file("rows.svm")
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]], dtype=float32)
    >>> y
    array([ 1., -1.])
    """
    base = {"auto": "auto", True: "zero", False: "one"}[zero_based]
    return _table(_learn.read_svmlight(str(path), n_features or 0, base, n_jobs or 0, np.dtype(dtype) == np.float64), dtype)


def load_file(path, *, format=None, label=None, dtype=None, categories=False, words=None):
    """Read a data file of any supported format.

    Parameters
    ----------
    path : str or path-like
        File to read.
    format : {"tutti", "svmlight", "csv", "npy", "npz", "hdf5", "snap"}, optional
        File format; by default determined from the first bytes or the name. "tutti" is the native format.
    label : str or int, optional
        Name or index of the label column of a CSV file.
    dtype : data-type, optional
        Type of X. Text formats are read as float32 unless it is float64.
    categories : bool, optional
        Accept string-valued columns of a CSV file: they become category codes 0, 1, ...
    words : bool, optional
        Deprecated name of `categories`.

    Returns
    -------
    X : ndarray or sparse matrix
        Features.
    y : ndarray or None
        Labels.
    sample_weight : ndarray or None
        Sample weights.
    categories : dict
        Only if `categories` is True: for each categorical column its categories in the order of their codes, by column
        index; "label" for the labels. Pass the indices to trees as `categorical_features`.
    """
    if words is not None:
        warnings.warn("argument 'words' is deprecated; use 'categories'", FutureWarning, stacklevel=2)
        categories = words
    wants_double = dtype is not None and np.dtype(dtype) == np.float64
    found = _learn.read_any(str(path), format or "", "" if label is None else str(label), wants_double, bool(categories))
    if not categories:
        return _three(*found, dtype)
    known = {column: names for column, names in enumerate(found[2]) if names}
    return *_three(*found[:2], dtype), {**known, "label": found[3]} if found[3] else known


def from_codes(codes, sizes=None):
    """One-hot encode category codes for linear models.

    Parameters
    ----------
    codes : array-like of int, shape (rows, fields)
        Category codes, from 0.
    sizes : array-like of int, optional
        Number of categories of each field; by default the largest code plus 1.

    Returns
    -------
    scipy.sparse.csr_matrix
        One column per category; 1 where the row has it.

    Raises
    ------
    ValueError
        If a code is negative, or not below the size of its field.

    Examples
    --------
    >>> from tutti.learn.data import from_codes
    >>> from_codes([[0, 1], [1, 0]]).toarray()
    array([[1., 0., 0., 1.],
           [0., 1., 1., 0.]], dtype=float32)
    """
    codes = np.asarray(codes)
    if codes.ndim != 2 or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError("codes must be a two-dimensional array of integers (rows x fields)")
    sizes = codes.max(axis=0, initial=-1) + 1 if sizes is None else np.asarray(sizes)
    if len(sizes) != codes.shape[1] or (len(codes) and (codes.min() < 0 or (codes.max(axis=0) >= sizes).any())):
        raise ValueError("every code must be at least 0 and below the size of its field")
    ends = np.cumsum(sizes, dtype=np.int64)
    return _table(_learn.from_codes(codes, ends - sizes, int(ends[-1])), np.float32)[0]


def load_snap_file(path, *, dtype=np.float32):
    """Read a file in the binary format of Snap ML.

    Parameters
    ----------
    path : str or path-like
        File to read.
    dtype : data-type, optional
        Type of X.

    Returns
    -------
    X : scipy.sparse.csr_matrix or ndarray
        Features.
    y : ndarray
        Labels.
    """
    return _table(_learn.read_snap(str(path)), dtype)


def _as_rows(X):
    """Convert to a floating-point matrix; float arrays and sparse matrices are not copied."""
    if sp.issparse(X):
        X = X.tocsr()
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64):
        return X
    for name, kind in getattr(X, "dtypes", {}).items() if hasattr(X, "columns") else ():
        if not _is_number(kind):
            raise ValueError(f"column {name!r} holds {kind}, not numbers. Encode it first, for example with "
                             f"sklearn.preprocessing.OrdinalEncoder")
    values = X.to_numpy(np.float64, na_value=np.nan) if hasattr(X, "columns") and not _is_float32(X) else np.asarray(X)
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _is_float32(frame):
    return all(kind == np.float32 for kind in frame.dtypes)


def _is_number(kind):
    """Return whether a pandas column of this dtype (numeric, boolean or nullable numeric) converts to floating point.
    """
    return getattr(kind, "kind", "O") in "biuf"


def _as_vector(values):
    return NO_WEIGHTS if values is None else np.asarray(values, dtype=np.float64)


def write_snap_file(path, X, y=None):
    """Write a file in the binary format of Snap ML, as float32.

    Parameters
    ----------
    path : str or path-like
        File to write.
    X : array-like or sparse matrix
        Features.
    y : array-like, optional
        Labels.
    """
    _learn.write_snap(str(path), as_matrix(_as_rows(X)), _as_vector(y))


def load_data_file(path, *, chunks=None, dtype=None):
    """Read a data file in the native format.

    Parameters
    ----------
    path : str or path-like
        File to read.
    chunks : (int, int), optional
        Range of chunks to read; by default all.
    dtype : data-type, optional
        Type of X; by default that of the file.

    Returns
    -------
    X : ndarray or sparse matrix
        Features.
    y, sample_weight : ndarray or None
        Labels and sample weights.
    """
    begin, end = chunks or (0, -1)
    return _three(*_learn.read_data_file(str(path), begin, end), dtype)


def save_data_file(path, X, y=None, sample_weight=None, *, chunk_rows=0):
    """Write a data file in the native format: checksummed chunks that can be mapped or streamed.

    Parameters
    ----------
    path : str or path-like
        File to write.
    X : array-like, sparse matrix or DataFrame
        Features; must be numeric.
    y, sample_weight : array-like, optional
        Labels and sample weights.
    chunk_rows : int, optional
        Rows per chunk; 0 means about 8 MiB per chunk.
    """
    _learn.write_data_file(str(path), as_matrix(_as_rows(X)), _as_vector(y), _as_vector(sample_weight), chunk_rows)
