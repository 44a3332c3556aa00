"""Switches an existing program: scikit-learn's names lead to the estimators of tutti.learn."""

import sklearn.linear_model
import sklearn.svm

from tutti.learn import linear

_NAMES = {
    sklearn.linear_model: ["ElasticNet", "GammaRegressor", "Lasso", "LinearRegression", "LogisticRegression", "PoissonRegressor", "Ridge"],
    sklearn.svm: ["LinearSVC"],
}
_originals = {}


def patch_sklearn():
    """From now on `from sklearn.linear_model import LogisticRegression` gives ours; imports made before keep what they have."""
    for module, names in _NAMES.items():
        for name in names:
            _originals.setdefault((module, name), getattr(module, name))
            setattr(module, name, getattr(linear, name))


def unpatch_sklearn():
    """Takes it back."""
    for (module, name), original in _originals.items():
        setattr(module, name, original)
    _originals.clear()
