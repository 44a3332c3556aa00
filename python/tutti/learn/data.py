"""Readers and writers of data files."""

import numpy as np
import scipy.sparse as sp

from tutti import _learn
from tutti.learn.matrices import NO_WEIGHTS, as_matrix

__all__ = ["DataFile", "from_codes", "load_data_file", "load_file", "load_snap_file", "load_svmlight_file", "save_data_file", "write_snap_file"]


def _three(parts, weights, dtype):
    values = parts[6]
    X, y = _table(parts, dtype or (np.float32 if values is None else values.dtype))
    return X, (y if len(y) else None), (weights if len(weights) else None)


class DataFile:
    """One of our own data files, not read yet. The linear estimators fit it as it lies: `fit(DataFile(path))` takes labels and weights from
    the file, and with `memory_limit` the rows are streamed. `part` of `parts`: only that share of its chunks, for one of several ranks."""

    def __init__(self, path, part=0, parts=1):
        self.path = str(path)
        self.handle = _learn.DataFile(self.path, part, parts)
        self.shape = (self.handle.rows, self.handle.columns)
        self.first = _learn.DataFile(self.path).chunks * part // parts

    def read(self, begin=0, end=-1):
        """(X, y, sample_weight) of these chunks."""
        end = self.handle.chunks if end < 0 else min(end, self.handle.chunks)
        return load_data_file(self.path, chunks=(self.first + begin, self.first + end))

    def chunks(self):
        """Chunk after chunk as (X, y, sample_weight)."""
        return (self.read(number, number + 1) for number in range(self.handle.chunks))


def _table(parts, dtype):
    labels, rows, columns, form, offsets, indices, values, has_row_length = parts
    if form == "dense":
        return values.reshape(rows, columns).astype(dtype, copy=False), labels
    if values is None and has_row_length:
        counts = np.diff(offsets)
        values = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts).astype(dtype)
    elif values is None:
        values = np.ones(len(indices), dtype)
    kind = sp.csr_matrix if form == "csr" else sp.csc_matrix
    return kind((values.astype(dtype, copy=False), indices, offsets), shape=(rows, columns), copy=False), labels


def load_svmlight_file(path, n_features=None, *, zero_based="auto", dtype=np.float32, n_jobs=None):
    """(X, y) of a file in svmlight's or libsvm's format, read by all processors: X in CSR form, y in float64."""
    base = {"auto": "auto", True: "zero", False: "one"}[zero_based]
    return _table(_learn.read_svmlight(str(path), n_features or 0, base, n_jobs or 0, np.dtype(dtype) == np.float64), dtype)


def load_file(path, *, format=None, label=None, dtype=None, words=False):
    """(X, y, sample_weight) of a file of any kind: own, svmlight, csv, npy, npz, hdf5, snap, told by its first bytes or its name. `label`: the
    column of a CSV file with the labels. y and sample_weight may be None. Text is read as float32 unless dtype is float64. With `words`
    columns of a CSV file that are not all numbers become codes 0, 1, ..., and a dictionary comes behind the three: by the number of such a column,
    and "label", the words in the order of their codes. Its numbers are what trees take as categorical_features."""
    wants_double = dtype is not None and np.dtype(dtype) == np.float64
    found = _learn.read_any(str(path), format or "", "" if label is None else str(label), wants_double, bool(words))
    if not words:
        return _three(*found, dtype)
    known = {column: names for column, names in enumerate(found[2]) if names}
    return *_three(*found[:2], dtype), {**known, "label": found[3]} if found[3] else known


def from_codes(codes, sizes=None):
    """Categories for linear models: CSR with a column for each category, 1 where a row has it. `codes`: rows x fields, from 0; `sizes`: how many
    each field has (the largest code that occurs, and 1)."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError("codes are whole numbers, rows x fields")
    sizes = codes.max(axis=0, initial=-1) + 1 if sizes is None else np.asarray(sizes)
    if len(sizes) != codes.shape[1] or (len(codes) and (codes.min() < 0 or (codes.max(axis=0) >= sizes).any())):
        raise ValueError("a code is below 0, or not below the size of its field")
    ends = np.cumsum(sizes, dtype=np.int64)
    return _table(_learn.from_codes(codes, ends - sizes, int(ends[-1])), np.float32)[0]


def load_snap_file(path, *, dtype=np.float32):
    """(X, y) of a file in the known binary layout."""
    return _table(_learn.read_snap(str(path)), dtype)


def _as_rows(X):
    """A matrix of floating-point numbers: arrays and sparse ones as they are, data frames and lists as arrays."""
    if sp.issparse(X):
        X = X.tocsr()
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64):
        return X
    for name, kind in getattr(X, "dtypes", {}).items() if hasattr(X, "columns") else ():
        if not _is_number(kind):
            raise ValueError(f"column {name!r} holds {kind}, not numbers; encode it before, for example with sklearn.preprocessing.OrdinalEncoder")
    values = X.to_numpy(np.float64, na_value=np.nan) if hasattr(X, "columns") and not _is_float32(X) else np.asarray(X)
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _is_float32(frame):
    return all(kind == np.float32 for kind in frame.dtypes)


def _is_number(kind):
    """Whether a column of this type of pandas (numbers, truth values, numbers that may be missing) becomes floating-point numbers."""
    return getattr(kind, "kind", "O") in "biuf"


def _as_vector(values):
    return NO_WEIGHTS if values is None else np.asarray(values, dtype=np.float64)


def write_snap_file(path, X, y=None):
    """Writes the known binary layout, in float32."""
    _learn.write_snap(str(path), as_matrix(_as_rows(X)), _as_vector(y))


def load_data_file(path, *, chunks=None, dtype=None):
    """(X, y, sample_weight) of one of our own data files; `chunks`: (begin, end) of those wanted. y and sample_weight may be None."""
    begin, end = chunks or (0, -1)
    return _three(*_learn.read_data_file(str(path), begin, end), dtype)


def save_data_file(path, X, y=None, sample_weight=None, *, chunk_rows=0):
    """Writes one of our own data files: checked, in chunks (0: of about 8 MiB), ready to be mapped or streamed."""
    _learn.write_data_file(str(path), as_matrix(_as_rows(X)), _as_vector(y), _as_vector(sample_weight), chunk_rows)
