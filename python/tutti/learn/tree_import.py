"""Import of models from XGBoost, LightGBM and scikit-learn."""

import json
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from tutti import _tree


class ImportedTrees:
    """A tree ensemble from another library.

    `to_json`, `to_onnx`, `to_pmml`, `to_cpp` and `importances` are available as for native models.
    """

    def __init__(self, model):
        self.model_ = model

    def _answers(self, X, with_link):
        """Return the predictions, shape (rows,) for one output."""
        X = X if hasattr(X, "indptr") else np.asarray(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        answers = self.model_.predict(X, 0, with_link)
        return answers[:, 0] if answers.shape[1] == 1 else answers

    def predict(self, X):
        """Return the predictions of the original library: probabilities or means, shape (rows,) or (rows, outputs)."""
        return self._answers(X, True)

    def predict_raw(self, X):
        """Return the predictions before the link function."""
        return self._answers(X, False)

    def shap_values(self, X):
        """Return SHAP values, shape (rows, outputs, columns)."""
        return self.model_.shap(np.asarray(X, dtype=np.float64), 0)[:, :, :-1]

    def __getattr__(self, name):
        if name in ("to_json", "to_onnx", "to_pmml", "to_cpp", "importances"):
            return getattr(self.model_, name)
        raise AttributeError(name)


def import_xgboost(path):
    """Import an XGBoost model.

    Parameters
    ----------
    path : str or path-like
        File written by `save_model("x.json")` or `save_model("x.ubj")`.

    Returns
    -------
    ImportedTrees
        The model.
    """
    return ImportedTrees(_tree.import_xgboost(Path(path).read_bytes()))


def import_lightgbm(path):
    """Import a LightGBM model.

    Parameters
    ----------
    path : str or path-like
        File written by `save_model("x.txt")`.

    Returns
    -------
    ImportedTrees
        The model.
    """
    return ImportedTrees(_tree.import_lightgbm(Path(path).read_bytes()))


def read_trees(path):
    """Read a model from the JSON text of `to_json`.

    Parameters
    ----------
    path : str or path-like
        File with the text.

    Returns
    -------
    ImportedTrees
        The model.
    """
    return ImportedTrees(_tree.read_model(Path(path).read_text()))


def _bounds_of_f32(thresholds):
    """Return the largest float64 values that are at most `thresholds` after rounding to float32, as scikit-learn rounds its input."""
    near = thresholds.astype(np.float32)
    low = np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
    gap = np.nextafter(low, np.float32(np.inf)).astype(np.float64) - low
    middle = low + gap / 2
    is_even = low.view(np.uint32) % 2 == 0  # ties are rounded to even
    return np.where(is_even, middle, np.nextafter(middle, -np.inf))


def _tree_of(tree, values, output=0):
    """Convert a `Tree` of scikit-learn to the native JSON structure."""
    leaf = tree.children_left < 0
    return dict(output=output, outputs=values.shape[1], left=tree.children_left.tolist(), right=tree.children_right.tolist(),
                column=np.where(leaf, -1, tree.feature).tolist(), threshold=np.where(leaf, 0.0, _bounds_of_f32(tree.threshold)).tolist(),
                missing_left=[0] * len(leaf), gain=[0.0] * len(leaf), cover=tree.weighted_n_node_samples.tolist(),
                count=tree.n_node_samples.tolist(), values=values.ravel().tolist())


def import_sklearn(estimator):
    """Import a fitted scikit-learn model.

    Parameters
    ----------
    estimator : object
        Decision tree, random forest or extra trees with one target.

    Returns
    -------
    ImportedTrees
        The model. Outputs of a classifier are class probabilities in the order of `classes_`.

    Raises
    ------
    TypeError
        If the estimator is not supported.
    ValueError
        If it has several targets.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from tutti.learn.tree import import_sklearn
    >>> import_sklearn(DecisionTreeRegressor().fit([[0.0], [1.0]], [1.0, 5.0])).predict([[0.9]])
    array([5.])
    """
    if not isinstance(estimator, (BaseDecisionTree, RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier,
                                  ExtraTreesRegressor)):
        raise TypeError(f"{type(estimator).__name__} cannot be imported; decision trees, random forests and extra trees can")
    check_is_fitted(estimator)
    trees = [one.tree_ for one in getattr(estimator, "estimators_", [estimator])]
    if estimator.n_outputs_ != 1:
        raise ValueError("only models with one target can be imported")
    values = [tree.value[:, 0, :] for tree in trees]
    if hasattr(estimator, "classes_"):
        values = [value / value.sum(axis=1, keepdims=True) for value in values]
    outputs = values[0].shape[1]
    text = json.dumps(dict(format="tutti-trees", version=1, columns=int(estimator.n_features_in_), outputs=outputs, link="identity",
                           averages=True, base=[0.0] * outputs,
                           column_names=[str(name) for name in getattr(estimator, "feature_names_in_", [])],
                           trees=[_tree_of(tree, value) for tree, value in zip(trees, values)]))
    return ImportedTrees(_tree.read_model(text))
