"""Metrics over the rows of all ranks.

The first argument is the labels of this rank's rows, or the distributed data; the second is the predictions for them.
All ranks must call a metric, and get the same value.
"""

import numpy as np

from snap_ml_mpi.ranks import classes_of, ranks

__all__ = ["accuracy_score", "hinge_loss", "log_loss", "mean_squared_error"]


def _labels(y):
    return np.asarray(getattr(y, "y", y))


def _mean(values):
    """Return the mean over the values of all ranks."""
    total, count = ranks().sum(np.array([np.sum(values), len(values)], dtype=np.float64))
    return total / count


def log_loss(y, proba):
    """Return the cross-entropy loss.

    Parameters
    ----------
    y : array-like or DistributedData
        Labels of this rank's rows.
    proba : array-like
        Probabilities, one column per class in the order of the labels; for two classes also the probability of the
        larger label alone.

    Returns
    -------
    float
        The mean over all rows.
    """
    labels, proba = _labels(y), np.asarray(proba, dtype=np.float64)
    classes = classes_of(labels)
    if proba.ndim == 1:
        proba = np.stack([1 - proba, proba], axis=1)
    if len(classes) > proba.shape[1]:
        raise ValueError(f"{len(classes)} classes, but probabilities for {proba.shape[1]}")
    chosen = proba[np.arange(len(labels)), np.searchsorted(classes, labels)]
    return _mean(-np.log(np.clip(chosen, np.finfo(np.float64).eps, 1)))


def accuracy_score(y, predicted):
    """Return the fraction of correct predictions over all ranks."""
    return _mean(_labels(y) == np.asarray(predicted))


def hinge_loss(y, decision):
    """Return the mean hinge loss over all ranks, for two classes; a positive decision means the larger label."""
    labels = _labels(y)
    return _mean(np.maximum(0, 1 - np.where(labels == classes_of(labels)[-1], 1, -1) * np.asarray(decision)))


def mean_squared_error(y, predicted):
    """Return the mean squared error over all ranks."""
    return _mean((_labels(y) - np.asarray(predicted)) ** 2)
