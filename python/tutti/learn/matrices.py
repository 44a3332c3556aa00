"""Arrays as the compiled part takes them."""

import numpy as np

NO_WEIGHTS = np.empty(0)


def as_matrix(X):
    """What the compiled part takes: a dense array as it is, or the parts of a sparse one. Entries that are all 1 need no values."""
    if isinstance(X, np.ndarray):
        return X
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    is_one = X.nnz > 0 and X.data.min() == 1 and X.data.max() == 1
    return X.format, X.shape, X.dtype, X.indptr, X.indices, None if is_one else X.data, False
