"""Acceleration of existing scikit-learn programs: replaces its estimators by classes that fit with tutti.learn."""

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
    """Replace estimators of scikit-learn by accelerated subclasses.

    Afterwards `from sklearn.linear_model import LogisticRegression` imports a class of the same name, parameters and
    attributes whose `fit` uses `tutti.learn`. The same holds for other linear models, `LinearSVC`, decision trees,
    forests and histogram boosting. Names imported before the call are not affected.

    If the parameters or the data are not supported, the original `fit` runs and the logger `snap_ml` reports it
    once. The attribute `engine_` of a fitted model is "tutti" or "sklearn".

    Examples
    --------
    >>> import snap_ml
    >>> snap_ml.patch_sklearn()
    >>> from sklearn.linear_model import LogisticRegression
    >>> LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).engine_
    'tutti'
    >>> snap_ml.unpatch_sklearn()
    """
    for module, patched, names in _NAMES:
        for name in names:
            if (module, name) not in _originals:
                _originals[module, name] = getattr(module, name)
                setattr(module, name, getattr(patched, name))


def unpatch_sklearn():
    """Restore the estimators of scikit-learn. Existing models are not affected."""
    for (module, name), original in _originals.items():
        setattr(module, name, original)
    _originals.clear()
