"""Generated data for `tutti bench shapes`: one function per shape of data.

Every function takes a random generator and a number of rows, and returns a matrix, two-class (or many-class) labels and
regression targets. The rows after the training rows are the test set.
"""

import dataclasses
from pathlib import Path

import numpy as np
import scipy.sparse as sp

MAX_TEST_ROWS = 50_000


@dataclasses.dataclass
class Data:
    """Training and test rows. `labels` are class codes from 0, `targets` are real."""

    X: object
    labels: np.ndarray
    targets: np.ndarray
    X_test: object
    labels_test: np.ndarray

    @property
    def is_sparse(self):
        return sp.issparse(self.X)

    @property
    def classes(self):
        return int(self.labels.max()) + 1


def _from_margins(rng, margins, noise=0.5, rate=None):
    """Return labels and targets of rows with these margins; `rate` is the fraction of ones."""
    margins = (margins - margins.mean()) / max(margins.std(), 1e-12)
    targets = 3 * margins + noise * rng.standard_normal(len(margins)) + 10
    logits = 2 * margins + rng.logistic(size=len(margins))
    threshold = 0.0 if rate is None else np.quantile(logits, 1 - rate)
    return (logits > threshold).astype(np.int64), targets


def _column(X, j):
    return (X[:, [j]].toarray() if sp.issparse(X) else X[:, j]).astype(np.float64).ravel()


def _linear(rng, X, scale=None, rate=None):
    """Labels and targets that are linear in the columns, plus a product of two of them for trees."""
    columns = X.shape[1]
    weights = rng.standard_normal(columns) * (rng.random(columns) < max(0.3, 5 / columns))
    weights[0] = 1
    scaled = X if scale is None else X / scale
    margins = np.asarray(scaled @ weights, dtype=np.float64)
    margins /= max(margins.std(), 1e-12)
    first, second = (_column(scaled, j) for j in (0, columns - 1))
    return _from_margins(rng, margins + 0.3 * np.tanh(first) * np.tanh(second), rate=rate)


def _gaussian(rng, rows, columns, dtype=np.float32):
    X = rng.standard_normal((rows, columns), dtype=np.float32).astype(dtype, copy=False)
    return X, *_linear(rng, X)


def tall(rng, rows):
    return _gaussian(rng, rows, 5)


def wide(rng, rows):
    """Correlated columns, like expressions of genes: 100 factors of decreasing strength, and noise."""
    strengths = 30 / np.arange(1, 101, dtype=np.float32)
    factors = rng.standard_normal((rows, 100), dtype=np.float32) * strengths
    X = factors @ rng.standard_normal((100, 20_000), dtype=np.float32) + rng.standard_normal((rows, 20_000), dtype=np.float32)
    return X, *_linear(rng, X)


def small(rng, rows):
    return _gaussian(rng, rows, 50, np.float64)


def tiny(rng, rows):
    return _gaussian(rng, rows, 10, np.float64)


def square(rng, rows):
    return _gaussian(rng, rows, 3000)


def column(rng, rows):
    return _gaussian(rng, rows, 1)


def rare(rng, rows):
    X = rng.standard_normal((rows, 20), dtype=np.float32)
    return X, *_linear(rng, X, rate=1e-3 if rows >= 20_000 else 0.02)


def correlated(rng, rows):
    factors = rng.standard_normal((rows, 10), dtype=np.float32)
    X = factors @ rng.standard_normal((10, 300), dtype=np.float32) + 0.1 * rng.standard_normal((rows, 300), dtype=np.float32)
    return X, *_linear(rng, X)


def integers(rng, rows):
    X = rng.integers(0, 10, (rows, 30)).astype(np.float32)
    return X, *_linear(rng, X, 3)


def heavy(rng, rows):
    """Columns with heavy tails, whose scales differ by 10^6."""
    scale = np.logspace(-3, 3, 20)
    X = (rng.standard_t(2.5, (rows, 20)) * scale).astype(np.float32)
    return X, *_linear(rng, np.clip(X / scale, -5, 5))


def duplicated(rng, rows):
    half = rng.standard_normal((rows, 30))
    X = np.concatenate([half, half], axis=1)
    return X, *_linear(rng, X)


def frame(rng, rows):
    """float64 columns, as a pandas data frame stores them."""
    X, labels, targets = _gaussian(rng, rows, 50, np.float64)
    return np.asfortranarray(X), labels, targets


def classes(rng, rows):
    X = rng.standard_normal((rows, 40), dtype=np.float32)
    scores = X @ rng.standard_normal((40, 10)).astype(np.float32) + 2 * rng.gumbel(size=(rows, 10))
    return X, scores.argmax(axis=1), _linear(rng, X)[1]


def _zipf(rng, rows, words, per_row):
    lengths = np.clip(rng.lognormal(np.log(per_row), 0.6, rows), 5, 20 * per_row).astype(np.int64)
    ranks = np.minimum((words ** rng.random(lengths.sum())).astype(np.int64), words) - 1  # Zipf: density 1 / rank
    X = sp.csr_matrix((np.ones(len(ranks), np.float32), ranks, np.concatenate([[0], np.cumsum(lengths)])), (rows, words))
    X.sum_duplicates()
    X = X[:, rng.permutation(words)]
    X.sort_indices()
    return X


def text(rng, rows):
    """Counts of words with Zipf's distribution."""
    X = _zipf(rng, rows, 130_000, 160)
    return X, *_linear(rng, X.log1p())


def tfidf(rng, rows):
    """The same as log counts times inverse document frequency, rows of unit norm."""
    counts = _zipf(rng, rows, 130_000, 160)
    X = counts.log1p()
    frequency = np.bincount(X.indices, minlength=X.shape[1]) + 1
    X.data *= np.log((rows + 1) / frequency).astype(np.float32)[X.indices] + 1
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr)).astype(np.float32)
    return X, *_linear(rng, counts.log1p())


def onehot(rng, rows):
    """20 categorical fields of 2500 values each, one-hot encoded: 20 ones per row of 50,000 columns."""
    codes = np.minimum((2500 ** rng.random((rows, 20))).astype(np.int64), 2500) - 1
    indices = (codes + 2500 * np.arange(20)).ravel()
    X = sp.csr_matrix((np.ones(len(indices), np.float32), indices, np.arange(0, len(indices) + 1, 20)), (rows, 50_000))
    return X, *_linear(rng, X)


SHAPES = {shape.__name__: shape for shape in (tall, wide, text, rare, correlated, integers, small, tiny, column, square, onehot, tfidf,
                                              heavy, duplicated, classes, frame)}


def _generate(shape, rows, seed):
    test_rows = min(MAX_TEST_ROWS, max(200, rows // 4))
    X, labels, targets = SHAPES[shape](np.random.default_rng(seed), rows + test_rows)
    labels[:2] = 0, 1  # both classes exist, whatever the number of rows
    return X, labels, targets, rows


def _save(folder, X, labels, targets, rows):
    if sp.issparse(X):
        sp.save_npz(folder / "X.npz", X, compressed=False)
    else:
        np.save(folder / "X.npy", X)
    np.savez(folder / "y.npz", labels=labels, targets=targets, rows=rows)


def load(folder, shape, rows, seed):
    """Return the data in `folder`, which are generated by the first call."""
    folder = Path(folder)
    if not (folder / "y.npz").exists():
        _save(folder, *_generate(shape, rows, seed))
    y = np.load(folder / "y.npz")
    X = np.load(folder / "X.npy") if (folder / "X.npy").exists() else sp.load_npz(folder / "X.npz")
    rows, is_frame = int(y["rows"]), shape == "frame"
    train, test = X[:rows], X[rows:]
    if is_frame:
        import pandas

        train, test = (pandas.DataFrame(np.asfortranarray(part)) for part in (train, test))
    return Data(train, y["labels"][:rows], y["targets"][:rows], test, y["labels"][rows:])
