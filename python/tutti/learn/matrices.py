"""Conversion of matrices and memory limits for the C++ library."""

import numbers

import numpy as np

from tutti import _learn

NO_WEIGHTS = np.empty(0)


def byte_count(limit):
    """Parse a memory limit: bytes, or text such as "500MB" (10^6), "2GiB" or "2G" (2^30). None returns 0."""
    if limit is None:
        return 0
    try:
        count = int(limit) if isinstance(limit, numbers.Real) else _learn.parse_bytes(str(limit))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"memory_limit={limit!r}: {error}") from None
    if count <= 0:
        raise ValueError(f"memory_limit={limit!r} must be above 0")
    return count


def without_duplicates(X):
    """Return a sparse matrix with sorted entries and summed duplicates; dense arrays and canonical matrices unchanged."""
    if isinstance(X, np.ndarray) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def as_matrix(X):
    """Return a dense array itself, or the components of a sparse matrix, without values if all of them are 1."""
    if isinstance(X, np.ndarray):
        return X
    X = without_duplicates(X)
    is_one = X.nnz > 0 and X.data.min() == 1 and X.data.max() == 1
    return X.format, X.shape, X.dtype, X.indptr, X.indices, None if is_one else X.data, False
