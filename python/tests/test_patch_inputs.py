"""Patched estimators accept and reject the same input as scikit-learn, with its messages, and do not hide internal errors."""

import logging
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier
from threadpoolctl import threadpool_limits

import snap_ml
from snap_ml import patch, patched_base

PAIRS = [(getattr(module, name), getattr(place, name)) for module, place, names in patch._NAMES for name in names]
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 4))
CLASSES = (X[:, 0] + RANDOM.normal(size=60) > 0).astype(int)
NUMBERS = np.exp(0.3 * X[:, 0]) + 0.1
WEIGHTS = RANDOM.random(60)


def with_value(value):
    changed = X.copy()
    changed[3, 2] = value
    return changed


def inputs(y):
    """Yields (description, X, y, weights)."""
    for value in (np.nan, np.inf, 1e39):
        yield f"a value of {value}", with_value(value), y, None
    for kind in (np.float16, int, bool, object, complex, np.longdouble, ">f8", str):
        yield f"X of {kind}", X.astype(kind), y, None
    for form in (sp.csc_matrix, sp.coo_matrix, sp.lil_matrix):
        yield form.__name__, form(X * (abs(X) > 0.5)), y, None
    yield "NaN in CSR", sp.csr_matrix(with_value(np.nan)), y, None
    yield "lists", X.tolist(), y.tolist(), None
    yield "a frame", pd.DataFrame(X, columns=list("abcd")), pd.Series(y, index=np.arange(60) + 7), None
    yield "rows from the last", X[::-1], y[::-1], None
    for labels in (y[:-1], y[:, None], np.column_stack([y, y]), None, np.array(["b", "a"])[CLASSES], np.zeros(60), y - 5, np.arange(60) % 3,
                   np.where(np.arange(60) == 3, np.nan, y)):
        yield f"y {labels if labels is None else labels.shape} {labels if labels is None else labels[:3]}", X, labels, None
    for shape in ((0, 4), (60, 0), (1, 4), (60, 4, 1), (60,)):
        yield f"X of {shape}", np.resize(X, shape), y[: shape[0]], None
    for weights in (WEIGHTS, 2.0, WEIGHTS - 0.5, WEIGHTS * 0, WEIGHTS[:-1], WEIGHTS[:, None], np.where(WEIGHTS > 0.9, np.nan, WEIGHTS), WEIGHTS.tolist()):
        yield f"weights {np.shape(weights)} {np.ravel(weights)[:2]}", X, y, weights
    yield "constant columns", 0 * X, y, None
    yield "more columns than rows", np.tile(X, (1, 30)), y, None


def outcome(kind, rows, labels, weights):
    few = {name: value for name, value in (("n_estimators", 5), ("random_state", 0)) if name in kind().get_params()}
    try:
        return kind(**few).fit(rows, labels, **({} if weights is None else {"sample_weight": weights})), None
    except Exception as error:
        return None, error


@pytest.mark.parametrize("original, patched", PAIRS, ids=[original.__name__ for original, _ in PAIRS])
def test_odd_inputs_end_as_with_scikit_learn(original, patched):
    logging.getLogger("snap_ml").setLevel(logging.ERROR)
    for what, *given in inputs(CLASSES if is_classifier(original()) else NUMBERS):
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            (_, theirs), (_, ours) = outcome(original, *given), outcome(patched, *given)
        assert type(ours) is type(theirs) and str(ours) == str(theirs), f"{what}: {theirs!r} there, {ours!r} here"


def test_a_fault_of_ours_is_seen(monkeypatch):
    y = CLASSES
    for kind in (snap_ml.patched_linear.LogisticRegression, snap_ml.patched_trees.RandomForestClassifier,
                 snap_ml.patched_boosting.HistGradientBoostingClassifier):
        for fault in (RuntimeError("a fault"), ValueError("DDL-9-11 a fault"), TypeError("a fault")):
            def fail(self, *_, fault=fault):
                raise fault

            monkeypatch.setattr(kind, "_fit_ours", fail)
            with pytest.raises(type(fault), match="a fault"):
                kind().fit(X, y)
        monkeypatch.setattr(kind, "_fit_ours", lambda self, *_: patched_base.refuse(this=True))
        assert kind().fit(X, y).engine_ == "sklearn"
