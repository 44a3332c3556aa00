"""scikit-learn programs behave the same before and after patch_sklearn()."""

import copy
import inspect
import logging
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.ensemble
import sklearn.linear_model
import sklearn.svm
import sklearn.tree
from sklearn import datasets
from sklearn.base import clone, is_classifier
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import Interval, StrOptions, generate_valid_param, make_constraint
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import snap_ml
from snap_ml import patch, patched_base

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
PAIRS = [(getattr(module, name), getattr(place, name)) for module, place, names in patch._NAMES for name in names]
IDS = [original.__name__ for original, _ in PAIRS]

# Values that scikit-learn's parameter constraints do not list, or that select different code paths.
MORE = {
    "C": [0.01, 1e3], "alpha": [0.01, 10.0], "class_weight": [{0: 1, 1: 3}, "balanced"], "tol": [1e-2, 1e-8], "max_iter": [1, 500],
    "l1_ratio": [0.2], "random_state": [0, np.random.RandomState(1)], "max_features": [1, 0.5, "log2", None], "min_samples_leaf": [3, 0.05],
    "min_samples_split": [5, 0.1], "max_depth": [1, 3], "max_leaf_nodes": [2, 9], "ccp_alpha": [0.02], "max_samples": [20, 0.5],
    "min_impurity_decrease": [0.01], "min_weight_fraction_leaf": [0.1], "categorical_features": [[0], [True] + [False] * 5],
    "monotonic_cst": [[1, 0, 0, 0, 0, -1]], "interaction_cst": ["pairwise", [{0, 1}]], "n_estimators": [3], "n_jobs": [1, 2, -1],
    "validation_fraction": [0.2, 30, None], "early_stopping": ["auto", True, False], "scoring": ["loss", "accuracy", None], "quantile": [0.3],
    "precompute": [True, False], "verbose": [0], "warm_start": [True, False], "max_bins": [7, 255], "learning_rate": [0.01, 1.0],
}
# Only together with others, or the reverse of what is tried otherwise.
TOGETHER = {
    "LogisticRegression": [dict(penalty="l1", solver="liblinear"), dict(penalty="l1", solver="saga"), dict(dual=True, solver="liblinear"),
                           dict(penalty="elasticnet", l1_ratio=0.5, solver="saga"), dict(penalty=None, solver="newton-cg", tol=1e-3)],
    "LinearSVC": [dict(penalty="l1", dual=False), dict(dual=False), dict(loss="hinge", C=0.1)],
    "Ridge": [dict(positive=True, solver="lbfgs"), dict(solver="sparse_cg", max_iter=5)],
    "HistGradientBoostingRegressor": [dict(loss="quantile", quantile=0.9), dict(early_stopping=True, scoring="r2")],
    "HistGradientBoostingClassifier": [dict(early_stopping=True, scoring="accuracy"), dict(class_weight="balanced", early_stopping=True)],
    "RandomForestClassifier": [dict(class_weight="balanced_subsample"), dict(oob_score=True, n_estimators=40)],
    "RandomForestRegressor": [dict(criterion="poisson"), dict(criterion="absolute_error", n_estimators=3)],
    "ExtraTreesClassifier": [dict(bootstrap=True, oob_score=True, n_estimators=40)],
}


def values_of(original, name):
    """Returns valid values of a parameter, one of every kind that its constraints list."""
    values = list(MORE.get(name, []))
    for constraint in map(make_constraint, original._parameter_constraints.get(name, [])):
        if isinstance(constraint, StrOptions):
            values += sorted(constraint.options)
        elif name not in MORE or not isinstance(constraint, Interval):
            try:
                values.append(generate_valid_param(constraint))
            except (NotImplementedError, TypeError, ValueError):
                pass
    return values


def settings_of(original):
    options = [{}, *TOGETHER.get(original.__name__, [])]
    return options + [{name: value} for name in inspect.signature(original).parameters for value in values_of(original, name)]


def data_for(estimator):
    X, y = datasets.make_classification(160, 6, n_informative=4, n_redundant=0, random_state=3)
    X[:, 0] = np.arange(160) % 5
    return X, (y if is_classifier(estimator) else np.exp(0.3 * X[:, 1] + 0.3 * y + 0.1 * X[:, 2]))


def outcome(estimator, X, y):
    """Returns the fitted estimator, or the type of the error."""
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            estimator.fit(X, y)
            return estimator, estimator.score(X, y)
    except Exception as error:
        return type(error), None


@pytest.mark.parametrize("original, patched", PAIRS, ids=IDS)
def test_every_parameter_with_every_kind_of_value(original, patched):
    assert inspect.signature(original) == inspect.signature(patched)
    few = {name: value for name, value in (("n_estimators", 15), ("random_state", 0)) if name in inspect.signature(original).parameters}
    engines = set()
    for options in settings_of(original):
        options = {**few, **options}
        theirs, ours = original(**options), patched(**copy.deepcopy(options))
        X, y = data_for(theirs)
        (a, score), (b, other) = outcome(theirs, X, y), outcome(ours, X, y)
        if score is None:
            assert a is b, f"{options}: {a} there, {b} here"
            continue
        assert other is not None, f"{options}: {b}"
        assert other > score - 0.12, f"{options}: {score} there, {other} here"  # scikit-learn does not always reach the optimum
        for name in vars(a):  # fitted attributes
            assert hasattr(b, name), f"{options}: no {name}"
        engines.add(b.engine_)
        assert clone(b).get_params().keys() == clone(a).get_params().keys()
    assert "tutti" in engines


@pytest.mark.parametrize("original, patched", PAIRS, ids=IDS)
def test_wrong_values_raise_the_errors_of_scikit_learn(original, patched):
    X, y = data_for(original())
    for wrong in [dict(max_iter=-3), dict(alpha=-1), dict(C=-1), dict(criterion="x"), dict(solver="x"), dict(loss="x")]:
        if not wrong.keys() <= inspect.signature(original).parameters.keys():
            continue
        with pytest.raises(ValueError) as theirs:
            original(**wrong).fit(X, y)
        with pytest.raises(ValueError) as ours:
            patched(**wrong).fit(X, y)
        assert str(ours.value) == str(theirs.value)
        assert ours.value.__context__ is None


@pytest.mark.parametrize("name", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga", "liblinear"])
def test_solvers_reach_the_same_optimum(name):
    X, y = datasets.load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = dict(solver=name, tol=1e-8, max_iter=5000, intercept_scaling=2.0, random_state=0)
    theirs, ours = sklearn.linear_model.LogisticRegression(**options).fit(X, y), snap_ml.patched_linear.LogisticRegression(**options).fit(X, y)
    assert ours.engine_ == "tutti" and ours.solver == name
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3 if name == "lbfgs" else 1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3 if name == "lbfgs" else 1e-4)
    if name == "liblinear":
        options.update(penalty="l1", C=0.1)
        theirs, ours = (one.set_params(**options).fit(X, y) for one in (theirs, ours))
        assert ours.engine_ == "tutti"
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_several_classes_with_l1_work():
    X, y = datasets.load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = dict(penalty="l1", solver="saga", C=0.1, tol=1e-7, max_iter=10**5)
    theirs, ours = (place.LogisticRegression(**options).fit(X, y) for place in (sklearn.linear_model, snap_ml.patched_linear))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_trees_are_pruned(name):
    X, y = datasets.load_iris(return_X_y=True)
    full = getattr(snap_ml.patched_trees, name)(random_state=0).fit(X, y)
    for alpha in (0.01, 0.02):
        theirs, ours = (getattr(place, name)(ccp_alpha=alpha, random_state=0).fit(X, y) for place in (sklearn.tree, snap_ml.patched_trees))
        assert ours.engine_ == "tutti"
        assert ours.get_n_leaves() == theirs.get_n_leaves() < full.get_n_leaves()
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y))


def test_float32_stays_where_scikit_learn_keeps_it():
    X, y = datasets.load_diabetes(return_X_y=True)
    X, y = X.astype(np.float32), y.astype(np.float32)
    cases = [(name, {}) for name in ("Ridge", "Lasso", "ElasticNet", "LinearRegression", "PoissonRegressor", "GammaRegressor")]
    cases += [("LogisticRegression", dict(solver=solver)) for solver in ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")]
    for name, options in cases:
        labels = y > 140 if name == "LogisticRegression" else y
        theirs, ours = (getattr(place, name)(**options).fit(X, labels) for place in (sklearn.linear_model, snap_ml.patched_linear))
        assert ours.engine_ == "tutti"
        assert ours.coef_.dtype == theirs.coef_.dtype, (name, options)
        assert ours.intercept_.dtype == theirs.intercept_.dtype, (name, options)
        assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    theirs, ours = sklearn.svm.LinearSVC().fit(X, y > 140), snap_ml.patched_linear.LinearSVC().fit(X, y > 140)
    assert ours.coef_.dtype == theirs.coef_.dtype


@pytest.mark.parametrize("name, options, message", [
    ("LogisticRegression", dict(max_iter=1), "failed to converge"),
    ("LogisticRegression", dict(max_iter=1, solver="liblinear"), "Liblinear failed to converge"),
    ("LogisticRegression", dict(penalty=None, C=2.0), "will ignore the C"),
    ("LogisticRegression", dict(penalty="none"), "penalty='none'"),
    ("LogisticRegression", dict(l1_ratio=0.5), "l1_ratio parameter is only used"),
    ("LogisticRegression", dict(solver="liblinear", n_jobs=2), "'n_jobs' > 1 does not have any effect"),
    ("Lasso", dict(alpha=1e-3, max_iter=1), "did not converge"),
])
def test_warnings_are_scikit_learns(name, options, message):
    X, y = datasets.load_breast_cancer(return_X_y=True)
    model = getattr(snap_ml.patched_linear, name)(**options)
    with pytest.warns(Warning, match=message):
        model.fit((X - X.mean(axis=0)) / X.std(axis=0), y)


def test_multinomial_coefficients_sum_to_zero():
    X, y = datasets.load_iris(return_X_y=True)
    model = snap_ml.patched_linear.LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-12)
    assert abs(model.intercept_.sum()) < 1e-12


def test_other_details():
    X, y = datasets.load_diabetes(return_X_y=True)
    for name in ("PoissonRegressor", "GammaRegressor"):
        assert getattr(snap_ml.patched_linear, name)(alpha=0).fit(X, y).engine_ == "sklearn"
        theirs, ours = (getattr(place, name)(alpha=0.1, solver="newton-cholesky", tol=1e-9).fit(X, y)
                        for place in (sklearn.linear_model, snap_ml.patched_linear))
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    frame = pd.DataFrame({"a": pd.arrays.SparseArray(np.arange(20.0) % 3, fill_value=0), "b": pd.arrays.SparseArray(np.arange(20.0) % 7, fill_value=0)})
    model = snap_ml.patched_linear.LinearRegression().fit(frame, np.arange(20.0))
    assert model.engine_ == "sklearn"
    with pytest.raises(ValueError, match="max_samples"):
        snap_ml.patched_trees.RandomForestRegressor(max_samples=10**9).fit(X, y)
    snap_ml.patched_trees.DecisionTreeRegressor(max_leaf_nodes=2**63, max_depth=2).fit(X, y)
    snap_ml.patched_boosting.HistGradientBoostingRegressor(max_iter=2, max_depth=2**63).fit(X, y)
    snap_ml.patched_linear.Lasso(max_iter=2**63).fit(X, y)


def test_fallback_is_reported_once(caplog):
    X, y = datasets.load_iris(return_X_y=True)
    patched_base._logged.clear()
    with caplog.at_level(logging.WARNING, logger="snap_ml"), warnings.catch_warnings():
        warnings.simplefilter("error")  # the fallback is logged, not a warning that could be turned into an error
        for _ in range(3):
            model = snap_ml.patched_trees.RandomForestClassifier(3, ccp_alpha=0.01).fit(X, y)
    assert model.engine_ == "sklearn"
    assert caplog.messages == ["RandomForestClassifier: fitted with scikit-learn, because tutti.learn does not support ccp_alpha"]
    Y = np.column_stack([y, y])
    for kind in (snap_ml.patched_trees.RandomForestClassifier, snap_ml.patched_linear.Ridge, snap_ml.patched_linear.Lasso):
        assert kind().fit(X, Y).predict(X).shape == Y.shape


def test_the_patch_and_back(tmp_path):
    before = sklearn.ensemble.RandomForestClassifier
    X, y = datasets.load_breast_cancer(return_X_y=True)
    snap_ml.patch_sklearn()
    snap_ml.patch_sklearn()  # a second call has no effect
    try:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.svm import LinearSVC

        model = clone(RandomForestClassifier(5, max_depth=3, oob_score=False))
        assert isinstance(model, before) and type(model) is RandomForestClassifier
        assert LinearSVC("l2", "hinge").loss == "hinge"

        class Mine(RandomForestClassifier):
            pass

        assert Mine(3).fit(X, y).engine_ == "tutti"
        model.fit(X, y)
    finally:
        snap_ml.unpatch_sklearn()
    assert sklearn.ensemble.RandomForestClassifier is before
    (tmp_path / "model").write_bytes(pickle.dumps(model))  # also after unpatch_sklearn
    program = f"import pickle, sys; print(len(pickle.load(open({str(tmp_path / 'model')!r}, 'rb')).estimators_))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "5\n", done.stderr


def test_searches_may_try_unsupported_parameters():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    grid = {"ccp_alpha": [0.0, 0.01], "criterion": ["gini", "log_loss"], "max_depth": [2, None]}
    search = GridSearchCV(snap_ml.patched_trees.DecisionTreeClassifier(random_state=0), grid, cv=3, error_score="raise", n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.9
    grid = [{"solver": ["liblinear"], "penalty": ["l1", "l2"]}, {"solver": ["lbfgs", "newton-cholesky"], "C": [0.1, 1]}]
    search = GridSearchCV(snap_ml.patched_linear.LogisticRegression(max_iter=5000), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.9


def close_trees(ours, theirs):
    for name in ("node_count", "max_depth", "n_leaves", "n_features", "n_outputs"):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("threshold", "impurity", "n_node_samples", "weighted_n_node_samples"):
        np.testing.assert_allclose(np.sort(getattr(ours, name)), np.sort(getattr(theirs, name)), rtol=1e-5, atol=1e-6)
    assert ours.value.shape == theirs.value.shape


@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_a_patched_tree_is_scikit_learns(form, criterion):
    X, y = datasets.load_diabetes(return_X_y=True)
    kind = "Regressor" if criterion == "squared_error" else "Classifier"
    y = y if kind == "Regressor" else (y > 140) * 1 + (y > 200)
    options = dict(criterion=criterion, max_depth=3, random_state=0)
    ours = getattr(snap_ml.patched_trees, f"DecisionTree{kind}")(**options).fit(form(X), y)
    theirs = getattr(sklearn.tree, f"DecisionTree{kind}")(**options).fit(form(X), y)
    assert ours.engine_ == "tutti"
    close_trees(ours.tree_, theirs.tree_)
    assert sklearn.tree.export_text(ours) == sklearn.tree.export_text(theirs)
    assert sklearn.tree.export_graphviz(ours).count("->") == ours.tree_.node_count - 1
    np.testing.assert_allclose(ours.predict(form(X)), theirs.predict(form(X)))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-6)
    np.testing.assert_allclose(ours.cost_complexity_pruning_path(form(X), y).ccp_alphas, theirs.cost_complexity_pruning_path(form(X), y).ccp_alphas)
    assert ours.decision_path(form(X)).sum() == theirs.decision_path(form(X)).sum()
    assert ours.get_depth() == 3 and ours.get_n_leaves() == theirs.get_n_leaves()


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees"])
def test_patched_forests_have_their_trees(name):
    X, y = datasets.load_diabetes(return_X_y=True)
    kinds = y > 140
    forest = getattr(snap_ml.patched_trees, name + "Classifier")(10, random_state=0).fit(X, kinds)
    mean = np.mean([tree.predict_proba(X.astype(np.float32)) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), mean, atol=1e-12)
    assert len(forest) == 10 and forest.engine_ == "tutti" and "|---" in sklearn.tree.export_text(forest[0])
    spread = np.std([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    assert spread.shape == forest.feature_importances_.shape and abs(forest.feature_importances_.sum() - 1) < 1e-9
    assert forest.apply(X).shape == (len(X), 10)
    numbers = getattr(snap_ml.patched_trees, name + "Regressor")(10, random_state=0, max_depth=4).fit(X, y)
    mean = np.mean([tree.predict(X.astype(np.float32)) for tree in numbers.estimators_], axis=0)
    np.testing.assert_allclose(numbers.predict(X), mean)
    for tree in numbers:  # impurities refer to the bootstrap sample of each tree
        assert 0.75 < tree.tree_.impurity[0] / y.var() < 1.3
    if name == "RandomForest":
        assert partial_dependence(numbers, X, [2], method="recursion", kind="average")["average"].shape[1] > 5
    assert permutation_importance(numbers, X, y, n_repeats=2, random_state=0).importances_mean.argmax() in (2, 8)


def test_rows_out_of_bag_are_those_that_trees_have_not_seen():
    X, y = datasets.make_friedman1(1500, noise=1, random_state=0)
    options = dict(n_estimators=60, oob_score=True, bootstrap=True, random_state=0)
    for name in ("RandomForestRegressor", "ExtraTreesRegressor"):
        ours, theirs = (getattr(place, name)(**options).fit(X, y) for place in (snap_ml.patched_trees, sklearn.ensemble))
        assert ours.engine_ == "tutti" and abs(ours.oob_score_ - theirs.oob_score_) < 0.03
        assert ours.oob_prediction_.shape == theirs.oob_prediction_.shape
        new = datasets.make_friedman1(1500, noise=1, random_state=1)
        assert abs(ours.oob_score_ - ours.score(*new)) < 0.05 < ours.score(X, y) - ours.oob_score_
    kinds = np.array(["low", "mean", "high"])[np.digitize(y, [12, 16])]
    for name in ("RandomForestClassifier", "ExtraTreesClassifier"):
        ours, theirs = (getattr(place, name)(**options).fit(X, kinds) for place in (snap_ml.patched_trees, sklearn.ensemble))
        assert ours.engine_ == "tutti" and abs(ours.oob_score_ - theirs.oob_score_) < 0.04
        np.testing.assert_allclose(ours.oob_decision_function_.sum(axis=1), 1)


def test_ctrl_c_ends_the_program_as_before(ctrl_c):
    X, y = datasets.load_breast_cancer(return_X_y=True)
    for model in (snap_ml.patched_trees.RandomForestClassifier(10**5, max_depth=2), snap_ml.patched_boosting.HistGradientBoostingClassifier(max_iter=10**5)):
        ctrl_c(0.3)
        with pytest.raises(KeyboardInterrupt), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)


@pytest.mark.skipif(SKLEARN < (1, 4), reason=f"scikit-learn {sklearn.__version__} does not encode categories")
def test_categories_that_scikit_learn_encodes_are_fitted_by_it():
    X, y = datasets.make_classification(300, 4, random_state=0)
    X[:, 0] = np.random.default_rng(0).integers(0, 12, len(X))
    options = dict(categorical_features=[0], random_state=0)
    ours = snap_ml.patched_boosting.HistGradientBoostingClassifier(**options).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingClassifier(**options).fit(X, y)
    assert ours.engine_ == "sklearn"
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_patched_boosting_has_stages_and_early_stopping(classes):
    X, y = datasets.make_classification(2000, 8, n_informative=5, n_classes=classes, random_state=0)
    X[::9, 1] = np.nan
    X[:, 0] = np.random.default_rng(0).integers(0, 12, len(X))
    # scikit-learn 1.4 encodes categories, and fits them itself.
    kinds = [0] if SKLEARN < (1, 4) else None
    options = dict(early_stopping=True, max_iter=200, categorical_features=kinds, random_state=0, learning_rate=0.2)
    ours = snap_ml.patched_boosting.HistGradientBoostingClassifier(**options).fit(X, y)
    with threadpool_limits(1):
        theirs = sklearn.ensemble.HistGradientBoostingClassifier(**options).fit(X, y)
    assert ours.engine_ == "tutti" and 0.5 < ours.n_iter_ / theirs.n_iter_ < 2
    # scikit-learn's rule: the last rounds are not better than the one before them.
    assert ours.validation_score_[-10:].max() <= ours.validation_score_[-11] + 1e-6
    assert len(ours.train_score_) == len(ours.validation_score_) == ours.n_iter_ + 1
    assert abs(ours.validation_score_[0] - theirs.validation_score_[0]) < 1e-9  # the same validation set
    assert ours.validation_score_.max() > theirs.validation_score_.max() * 1.15
    stages = list(ours.staged_predict_proba(X))
    np.testing.assert_allclose(stages[-1], ours.predict_proba(X), atol=1e-12)
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.predict_proba(X), ours.predict_proba(X))
    whole = np.nan_to_num(X)
    assert partial_dependence(ours, whole, [2], kind="average")["average"].shape[0] == (1 if classes == 2 else classes)


@pytest.mark.parametrize("options", [dict(loss="absolute_error"), dict(loss="quantile", quantile=0.8), dict(loss="quantile", quantile=0.2, early_stopping=True)])
def test_patched_boosting_has_quantiles(options):
    X, y = datasets.make_friedman1(3000, noise=3, random_state=0)
    new, truth = datasets.make_friedman1(3000, noise=3, random_state=1)
    share = options.get("quantile", 0.5)
    ours = snap_ml.patched_boosting.HistGradientBoostingRegressor(random_state=0, **options).fit(X, y)
    with threadpool_limits(1):
        theirs = sklearn.ensemble.HistGradientBoostingRegressor(random_state=0, **options).fit(X, y)
    assert ours.engine_ == "tutti"
    assert mean_pinball_loss(truth, ours.predict(new), alpha=share) < 1.02 * mean_pinball_loss(truth, theirs.predict(new), alpha=share)
    np.testing.assert_allclose(list(ours.staged_predict(new))[-1], ours.predict(new))


CHECKED = [patched(**({"n_estimators": 5} if "n_estimators" in inspect.signature(patched).parameters else {})) for _, patched in PAIRS]


@parametrize_with_checks([one.set_params(max_iter=10, min_samples_leaf=5) if "Boosting" in type(one).__name__ else one for one in CHECKED])
def test_conventions(estimator, check):
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        check(estimator)
