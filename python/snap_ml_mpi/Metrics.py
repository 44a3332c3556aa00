"""Metrics over the rows of all ranks: labels (or the distributed data) and predictions of this rank's rows in, one number out."""

import numpy as np

from snap_ml_mpi.ranks import ranks

__all__ = ["accuracy_score", "hinge_loss", "log_loss", "mean_squared_error"]


def _labels(y):
    return np.asarray(getattr(y, "y", y))


def _mean(values):
    total, count = ranks().sum(np.array([np.sum(values), len(values)], dtype=np.float64))
    return total / count


def log_loss(y, proba):
    """`proba`: probability of the positive (larger) label, or one column per class."""
    labels, proba = _labels(y), np.asarray(proba, dtype=np.float64)
    positive = proba[:, 1] if proba.ndim == 2 else proba
    chosen = np.where(labels > 0, positive, 1 - positive)
    return _mean(-np.log(np.clip(chosen, 1e-15, 1)))


def accuracy_score(y, predicted):
    return _mean(_labels(y) == np.asarray(predicted))


def hinge_loss(y, decision):
    return _mean(np.maximum(0, 1 - np.where(_labels(y) > 0, 1, -1) * np.asarray(decision)))


def mean_squared_error(y, predicted):
    return _mean((_labels(y) - np.asarray(predicted)) ** 2)
