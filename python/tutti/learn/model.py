"""Model files, shared with the command `tutti learn`."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tutti import _model, _tree
from tutti.learn import linear, tree

LINEAR = {"logistic": linear.LogisticRegression, "hinge": linear.LinearSVC, "squared_hinge": linear.LinearSVC,
          "squared": linear.LinearRegression, "poisson": linear.PoissonRegressor, "gamma": linear.GammaRegressor}
TREES = {"tree": (tree.DecisionTreeClassifier, tree.DecisionTreeRegressor),
         "forest": (tree.RandomForestClassifier, tree.RandomForestRegressor),
         "extra_trees": (tree.ExtraTreesClassifier, tree.ExtraTreesRegressor),
         "boosting": (tree.GradientBoostingClassifier, tree.GradientBoostingRegressor)}
BOOSTED = (tree.BoostingMachineClassifier, tree.BoostingMachineRegressor)


def save_model(estimator, path):
    """Write a fitted estimator to a file for `load_model` and `tutti learn predict`.

    Parameters
    ----------
    estimator : object
        Fitted estimator of `tutti.learn` or `snap_ml`. Classes must be numbers or strings.
    path : str or path-like
        File to write.

    Raises
    ------
    TypeError
        If the estimator is not supported.
    ValueError
        If the model has only one class or transforms its input (`normalize` or `kernel` of `snap_ml`).

    Examples
    --------
    >>> from tutti.learn.linear import Ridge
    >>> from tutti.learn.model import load_model, save_model
    >>> save_model(Ridge().fit([[0.0], [1.0]], [0.0, 3.0]), "ridge.model")
    >>> load_model("ridge.model").predict([[0.5]])
    array([1.5])
    """
    check_is_fitted(estimator)
    if getattr(estimator, "normalize", False) or getattr(estimator, "kernel", "linear") != "linear":
        raise ValueError("model files do not support normalize and kernel")
    content = {"name": _name_of(estimator), "columns": int(estimator.n_features_in_), "classes": [], "labels": [], "is_multinomial": False}
    if hasattr(estimator, "classes_"):
        if len(estimator.classes_) < 2:
            raise ValueError("model files need at least two classes")
        if np.issubdtype(estimator.classes_.dtype, np.number) or estimator.classes_.dtype == bool:
            content["classes"] = estimator.classes_.astype(np.float64).tolist()
        else:
            content["labels"] = [str(label) for label in estimator.classes_]
            content["classes"] = [float(code) for code in range(len(estimator.classes_))]
    if hasattr(estimator, "model_"):
        content["trees"] = estimator.model_.to_json()
    else:
        coefficients = np.atleast_2d(estimator.coef_)
        content["coefficients"] = coefficients.tolist()
        content["intercepts"] = np.broadcast_to(np.atleast_1d(estimator.intercept_), len(coefficients)).tolist()
        content["is_multinomial"] = len(coefficients) > 2 and estimator._is_multinomial()
    _model.write_model(str(path), content)


def load_model(path):
    """Read a model file.

    Parameters
    ----------
    path : str or path-like
        File written by `save_model` or `tutti learn train`.

    Returns
    -------
    object
        Fitted estimator of `tutti.learn`.

    Raises
    ------
    ValueError
        If the model has string-valued columns; `tutti learn predict` encodes them.
    """
    content = _model.read_model(str(path))
    if content["categorical"]:
        raise ValueError(f"{path}: columns {content['categorical']} are strings; use `tutti learn predict`")
    classes = np.array(content["labels"]) if content["labels"] else np.array(content["classes"])
    name = content["name"]
    if "trees" in content:
        estimator = TREES[name][0 if len(classes) else 1]()
        estimator.model_ = _tree.read_model(content["trees"])
    else:
        estimator = LINEAR[name](loss=name) if LINEAR[name] is linear.LinearSVC else LINEAR[name]()
        if len(classes) > 2 and name == "logistic" and not content["is_multinomial"]:
            estimator.set_params(multi_class="ovr")
        coefficients, intercepts = np.array(content["coefficients"]), np.array(content["intercepts"])
        estimator.coef_ = coefficients if len(classes) else coefficients[0]
        estimator.intercept_ = intercepts if len(classes) else float(intercepts[0])
    estimator.n_features_in_ = content["columns"]
    if len(classes):
        estimator.classes_, estimator.n_classes_ = classes, len(classes)
    return estimator


def _name_of(estimator):
    if isinstance(estimator, BOOSTED):
        return "boosting"
    for name, classes in TREES.items():
        if isinstance(estimator, classes):
            return name
    if isinstance(estimator, linear.LinearSVC):
        return estimator.loss
    for name in ("logistic", "gamma", "poisson"):
        if isinstance(estimator, LINEAR[name]):
            return name
    if isinstance(estimator, linear.LinearRegressor):
        return "squared"
    raise TypeError(f"{type(estimator).__name__} is not an estimator of tutti.learn")
