"""Switches an existing program: scikit-learn's names lead to classes that fit with tutti.learn."""

import sklearn.ensemble
import sklearn.linear_model
import sklearn.svm
import sklearn.tree

from snap_ml import patched_boosting, patched_linear, patched_trees

_NAMES = [
    (sklearn.linear_model, patched_linear, ["ElasticNet", "GammaRegressor", "Lasso", "LinearRegression", "LogisticRegression",
                                            "PoissonRegressor", "Ridge"]),
    (sklearn.svm, patched_linear, ["LinearSVC"]),
    (sklearn.tree, patched_trees, ["DecisionTreeClassifier", "DecisionTreeRegressor"]),
    (sklearn.ensemble, patched_trees, ["ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"]),
    (sklearn.ensemble, patched_boosting, ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]),
]
_originals = {}


def patch_sklearn():
    """From now on `from sklearn.linear_model import LogisticRegression` gives a class of the same name and parameters whose `fit` is ours,
    and so for trees, forests and histogram boosting; imports made before keep what they have. What ours cannot do, scikit-learn's own
    fit does, and the logger `snap_ml` says so in one line."""
    for module, place, names in _NAMES:
        for name in names:
            if (module, name) not in _originals:
                _originals[module, name] = getattr(module, name)
                setattr(module, name, getattr(place, name))


def unpatch_sklearn():
    """Takes it back. Models that were made meanwhile stay as they are."""
    for (module, name), original in _originals.items():
        setattr(module, name, original)
    _originals.clear()
