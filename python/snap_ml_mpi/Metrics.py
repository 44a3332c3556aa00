"""Metrics over the rows of all ranks: labels (or the distributed data) and predictions of this rank's rows in, one number out."""

import numpy as np

from snap_ml_mpi.ranks import classes_of, ranks

__all__ = ["accuracy_score", "hinge_loss", "log_loss", "mean_squared_error"]


def _labels(y):
    return np.asarray(getattr(y, "y", y))


def _mean(values):
    total, count = ranks().sum(np.array([np.sum(values), len(values)], dtype=np.float64))
    return total / count


def log_loss(y, proba):
    """`proba`: of two classes the probability of the larger label; else, or always, one column per class in the order of the labels."""
    labels, proba = _labels(y), np.asarray(proba, dtype=np.float64)
    classes = classes_of(labels)
    if proba.ndim == 1:
        proba = np.stack([1 - proba, proba], axis=1)
    if len(classes) > proba.shape[1]:
        raise ValueError(f"there are {len(classes)} classes, but probabilities for {proba.shape[1]}")
    chosen = proba[np.arange(len(labels)), np.searchsorted(classes, labels)]
    return _mean(-np.log(np.clip(chosen, np.finfo(np.float64).eps, 1)))


def accuracy_score(y, predicted):
    return _mean(_labels(y) == np.asarray(predicted))


def hinge_loss(y, decision):
    """Of two classes; a positive decision means the larger label."""
    labels = _labels(y)
    return _mean(np.maximum(0, 1 - np.where(labels == classes_of(labels)[-1], 1, -1) * np.asarray(decision)))


def mean_squared_error(y, predicted):
    return _mean((_labels(y) - np.asarray(predicted)) ** 2)
