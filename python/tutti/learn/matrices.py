"""Arrays as the compiled part takes them."""

import numbers

import numpy as np

from tutti import _learn

NO_WEIGHTS = np.empty(0)


def byte_count(limit):
    """Bytes of a memory_limit: a number, or text as in 500MB (1e6), 2GiB or 2G (2^30). None: 0."""
    if limit is None:
        return 0
    try:
        count = int(limit) if isinstance(limit, numbers.Real) else _learn.parse_bytes(str(limit))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"memory_limit={limit!r}: {error}") from None
    if count <= 0:
        raise ValueError(f"memory_limit={limit!r} must be above 0")
    return count


def as_matrix(X):
    """What the compiled part takes: a dense array as it is, or the parts of a sparse one. Entries that are all 1 need no values."""
    if isinstance(X, np.ndarray):
        return X
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    is_one = X.nnz > 0 and X.data.min() == 1 and X.data.max() == 1
    return X.format, X.shape, X.dtype, X.indptr, X.indices, None if is_one else X.data, False
