"""Systems that `tutti bench shapes` measures: for each estimator, models with increasing effort.

Every function returns {name of the system: [(settings, model), ...]}, the efforts in the order in which they are tried.
"""

from importlib import metadata

import numpy as np
import sklearn

TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # of Tutti; the last one also gives the reference of the objective
TREES = 100
DEPTH = 12
SCALING = 10  # of liblinear's intercept where the penalty excludes it


def _steps(make, name, values):
    return [(f"{name} {value:g}", make(value)) for value in values]


def _sklearn(system):
    return f"{system} (scikit-learn {sklearn.__version__})"


def _logistic(data, penalty):
    from sklearn.linear_model import LogisticRegression

    def steps(solver, values, name="max_iter", **more):
        return _steps(lambda value: LogisticRegression(penalty=penalty, solver=solver, random_state=0,
                                                       **{"tol": 1e-9, "max_iter": 1000, name: value, **more}), name, values)
    found = {}
    if data.classes == 2:
        found["liblinear"] = steps("liblinear", (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6), "tol", intercept_scaling=SCALING)
    if penalty == "l1":
        if data.classes > 2 or data.is_sparse:
            found["saga"] = steps("saga", (10, 50, 200))
        return found
    if data.classes == 2:
        found["liblinear dual"] = steps("liblinear", (20, 100, 1000), dual=True, intercept_scaling=SCALING)
    found["lbfgs"] = steps("lbfgs", (10, 30, 100, 300, 1000))
    found["newton-cg"] = steps("newton-cg", (3, 5, 10, 20))
    if data.classes == 2 and data.X.shape[1] <= 3000:
        found["newton-cholesky"] = steps("newton-cholesky", (2, 4, 8, 20))
    return found


def _ridge(data):
    from sklearn.linear_model import Ridge

    found = {"ridge auto": [("auto", Ridge())]}
    found["ridge sparse_cg"] = _steps(lambda tol: Ridge(solver="sparse_cg", tol=tol), "tol", (1e-1, 1e-2, 1e-3, 1e-4, 1e-5))
    found["ridge lsqr"] = _steps(lambda tol: Ridge(solver="lsqr", tol=tol), "tol", (1e-2, 1e-3, 1e-4, 1e-5))
    if not data.is_sparse:
        found["ridge cholesky"] = [("cholesky", Ridge(solver="cholesky"))]
    return found


def _lasso(data, alpha):
    from sklearn.linear_model import Lasso

    def steps(precompute):
        return _steps(lambda tol: Lasso(alpha, tol=tol, max_iter=100_000, precompute=precompute), "tol", (1e-1, 1e-2, 1e-3, 1e-4, 1e-5))
    found = {"lasso": steps(False)}
    if data.X.shape[1] <= 1000:
        found["lasso precompute"] = steps(True)
    return found


def _svm(loss):
    from sklearn.svm import LinearSVC

    found = {"liblinear dual": _steps(lambda steps: LinearSVC(loss=loss, max_iter=steps, tol=1e-9, dual=True, random_state=0), "max_iter",
                                      (10, 30, 100, 1000, 10000))}
    if loss == "squared_hinge":
        found["liblinear primal"] = _steps(lambda tol: LinearSVC(loss=loss, tol=tol, dual=False), "tol", (1e-1, 1e-2, 1e-3, 1e-4, 1e-5))
    return found


def _tree(estimator, data):
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    if estimator == "tree":
        return {_sklearn("tree"): [("", DecisionTreeClassifier(max_depth=DEPTH, random_state=0))], **_xgboost(1, DEPTH, 1.0)}
    if estimator == "forest":
        return {_sklearn("forest"): [("", RandomForestClassifier(TREES, n_jobs=1, random_state=0))]}
    found = {}
    if not data.is_sparse:
        found[_sklearn("hist")] = [("", HistGradientBoostingClassifier(max_iter=TREES, early_stopping=False))]
    return {**found, **_xgboost(TREES, 6, 0.1), **_lightgbm(), **_catboost()}


def _xgboost(trees, depth, rate):
    try:
        import xgboost
    except ImportError:
        return {}
    model = xgboost.XGBClassifier(tree_method="hist", n_estimators=trees, max_depth=depth, learning_rate=rate, n_jobs=1)
    return {f"hist (XGBoost {xgboost.__version__})": [("", model)]}


def _lightgbm():
    try:
        import lightgbm
    except ImportError:
        return {}
    model = lightgbm.LGBMClassifier(n_estimators=TREES, n_jobs=1, verbose=-1, deterministic=True, force_row_wise=True)
    return {f"LightGBM {lightgbm.__version__}": [("", model)]}


def _catboost():
    try:
        import catboost
    except ImportError:
        return {}
    model = catboost.CatBoostClassifier(iterations=TREES, learning_rate=0.1, thread_count=1, verbose=False, allow_writing_files=False)
    return {f"CatBoost {catboost.__version__}": [("", model)]}


def _intelex(estimator, data, alpha):
    """scikit-learn-intelex, for the estimators it accelerates."""
    try:
        from sklearnex.ensemble import RandomForestClassifier
        from sklearnex.linear_model import Lasso, LogisticRegression, Ridge
    except ImportError:
        return {}
    if data.is_sparse:
        return {}
    models = {
        "logistic_l2": lambda: _steps(lambda steps: LogisticRegression(max_iter=steps, tol=1e-9), "max_iter", (10, 30, 100, 300, 1000)),
        "ridge": lambda: [("auto", Ridge())],
        "lasso": lambda: _steps(lambda tol: Lasso(alpha, tol=tol, max_iter=100_000), "tol", (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)),
        "forest": lambda: [("", RandomForestClassifier(TREES, n_jobs=1, random_state=0))],
    }
    return {f"scikit-learn-intelex {metadata.version('scikit-learn-intelex')}": models[estimator]()} if estimator in models else {}


def lasso_alpha(data):
    """A twentieth of the smallest penalty at which all coefficients are 0."""
    centred = data.targets - data.targets.mean()
    X = np.asarray(data.X) if not data.is_sparse else data.X
    products = np.asarray(X.T @ centred).ravel()
    if not data.is_sparse:
        products -= np.asarray(X.mean(axis=0)).ravel() * centred.sum()
    return 0.05 * float(np.abs(products).max()) / len(centred)


def baselines(estimator, data, alpha):
    """Return the systems that Tutti is compared with: those of the Python that runs this."""
    if estimator in ("tree", "forest", "boosting"):
        return {**_tree(estimator, data), **_intelex(estimator, data, alpha)}
    found = {"logistic_l2": lambda: _logistic(data, "l2"), "logistic_l1": lambda: _logistic(data, "l1"), "ridge": lambda: _ridge(data),
             "lasso": lambda: _lasso(data, alpha), "hinge": lambda: _svm("hinge"), "squared_hinge": lambda: _svm("squared_hinge")}[estimator]()
    return {**{_sklearn(name): steps for name, steps in found.items()}, **_intelex(estimator, data, alpha)}


def tutti(estimator, alpha):
    """Return Tutti's models."""
    from tutti.learn import linear, tree

    svm = {"penalise_intercept": True}  # as liblinear does
    linear_models = {
        "logistic_l2": lambda tol: linear.LogisticRegression(tol=tol, n_jobs=1),
        "logistic_l1": lambda tol: linear.LogisticRegression("l1", tol=tol, n_jobs=1),
        "ridge": lambda tol: linear.Ridge(tol=tol, n_jobs=1),
        "lasso": lambda tol: linear.Lasso(alpha, tol=tol, n_jobs=1),
        "hinge": lambda tol: linear.LinearSVC("hinge", tol=tol, n_jobs=1, **svm),
        "squared_hinge": lambda tol: linear.LinearSVC("squared_hinge", tol=tol, n_jobs=1, **svm),
    }
    if estimator in linear_models:
        return _steps(linear_models[estimator], "tol", TOLERANCES)
    models = {
        "tree": lambda: tree.DecisionTreeClassifier(max_depth=DEPTH, n_jobs=1, random_state=0),
        "forest": lambda: tree.RandomForestClassifier(TREES, n_jobs=1, random_state=0),
        "boosting": lambda: tree.GradientBoostingClassifier(max_iter=TREES, early_stopping=False, n_jobs=1),
    }
    return [("", models[estimator]())]


def objective(estimator, data, alpha, model):
    """Return the objective of a linear model in float64."""
    weights = np.atleast_2d(np.asarray(model.coef_, np.float64))
    intercepts = np.atleast_1d(np.asarray(model.intercept_, np.float64))
    X = np.asarray(data.X) if not data.is_sparse else data.X
    margins = np.asarray(X @ weights.T) + intercepts
    squares = 0.5 * (weights ** 2).sum()
    if estimator in ("ridge", "lasso"):
        losses = 0.5 * ((margins.ravel() - data.targets) ** 2).sum()
        return losses + (squares if estimator == "ridge" else alpha * len(margins) * np.abs(weights).sum())
    is_svm = estimator in ("hinge", "squared_hinge")
    penalty = np.abs(weights).sum() if estimator == "logistic_l1" else squares + (0.5 * (intercepts ** 2).sum() if is_svm else 0)
    if margins.shape[1] > 1 and not is_svm:
        top = margins.max(axis=1, keepdims=True)
        losses = (top.ravel() + np.log(np.exp(margins - top).sum(axis=1)) - margins[np.arange(len(margins)), data.labels]).sum()
        return losses + penalty
    signs = np.where(data.labels[:, None] == (np.arange(margins.shape[1]) if margins.shape[1] > 1 else 1), 1.0, -1.0)
    slack = np.maximum(0, 1 - signs * margins)
    losses = slack if estimator == "hinge" else slack ** 2 if is_svm else np.logaddexp(0, -signs * margins)
    return losses.sum() + penalty


def score(data, model):
    """Return the area under the ROC curve of the test set; with more than two classes the accuracy."""
    from sklearn.metrics import roc_auc_score

    chances = np.asarray(model.predict_proba(data.X_test))
    if chances.shape[1] > 2:
        return float((chances.argmax(axis=1) == data.labels_test).mean())
    return float(roc_auc_score(data.labels_test, chances[:, 1])) if 0 < data.labels_test.mean() < 1 else 0.5
