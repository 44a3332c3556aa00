"""Model files: estimators of tutti.learn as files of `tutti learn`, and back."""

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
    """Writes a fitted linear model or trees to a file that `tutti learn predict` and load_model read.

    Classes must be numbers or strings. Raises TypeError for other estimators, and ValueError for one class or
    a transformed input (normalize, kernel of snap_ml).
    """
    check_is_fitted(estimator)
    if getattr(estimator, "normalize", False) or getattr(estimator, "kernel", "linear") != "linear":
        raise ValueError("a model file holds no normalize and no kernel")
    content = {"name": _name_of(estimator), "columns": int(estimator.n_features_in_), "classes": [], "labels": [], "is_multinomial": False}
    if hasattr(estimator, "classes_"):
        if len(estimator.classes_) < 2:
            raise ValueError("a model file needs two classes at least")
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
    """Returns a fitted estimator of tutti.learn from a file of save_model or `tutti learn train`.

    Files whose columns are strings raise ValueError: they need `tutti learn predict`, which encodes them.
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
