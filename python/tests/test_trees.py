"""Trees: scikit-learn's conventions, and predictions at least as good as its own."""

import ctypes
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets, ensemble, tree
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, mean_absolute_error, mean_pinball_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from tutti.learn import tree as ours

ESTIMATORS = [
    ours.DecisionTreeClassifier(n_jobs=1), ours.DecisionTreeRegressor(n_jobs=1),
    ours.RandomForestClassifier(5, n_jobs=1), ours.RandomForestRegressor(5, n_jobs=1),
    ours.ExtraTreesClassifier(5, n_jobs=1), ours.ExtraTreesRegressor(5, n_jobs=1),
    ours.GradientBoostingClassifier(max_iter=5, min_samples_leaf=5, n_jobs=1),
    ours.GradientBoostingRegressor(max_iter=5, min_samples_leaf=5, n_jobs=1),
    ours.BoostingMachineClassifier(num_round=5, n_jobs=1), ours.BoostingMachineRegressor(num_round=5, n_jobs=1),
    ours.BoostingMachineClassifier(num_round=5, n_jobs=1, tree_select_probability=0.5),
    ours.DecisionTreeClassifier(n_jobs=1, use_histograms=False), ours.DecisionTreeRegressor(n_jobs=1, use_histograms=False),
    ours.GradientBoostingRegressor(max_iter=5, min_samples_leaf=5, n_jobs=1, use_histograms=False),
]


@parametrize_with_checks(ESTIMATORS)
def test_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.fixture(scope="module")
def cells():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, random_state=0)


@pytest.fixture(scope="module")
def made():
    X, y = datasets.make_classification(20000, 20, n_informative=8, random_state=1, flip_y=0.05)
    return train_test_split(X.astype(np.float32), y, test_size=0.5, random_state=0)


@pytest.mark.parametrize("depth", [4, 8, 12])
def test_a_tree_is_as_accurate_as_scikit_learns(made, depth):
    X, X_test, y, y_test = made
    mine = ours.DecisionTreeClassifier(max_depth=depth).fit(X, y).score(X_test, y_test)
    theirs = tree.DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y).score(X_test, y_test)
    assert mine > theirs - 0.01


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees"])
def test_a_forest_is_as_accurate_as_scikit_learns(made, name):
    X, X_test, y, y_test = (part[:4000] for part in made)
    mine = getattr(ours, name + "Classifier")(50, random_state=0).fit(X, y).score(X_test, y_test)
    theirs = getattr(ensemble, name + "Classifier")(50, random_state=0, n_jobs=2).fit(X, y).score(X_test, y_test)
    assert mine > theirs - 0.015


def test_boosting_is_as_good_as_scikit_learns(made):
    X, X_test, y, y_test = made
    mine = ours.GradientBoostingClassifier(max_iter=30).fit(X, y).predict_proba(X_test)
    with threadpool_limits(1):  # its OpenMP threads spin for seconds on a busy machine
        theirs = ensemble.HistGradientBoostingClassifier(max_iter=30, early_stopping=False).fit(X, y).predict_proba(X_test)
    assert log_loss(y_test, mine) < log_loss(y_test, theirs) * 1.03


def test_regression(cells):
    X, y = datasets.load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    assert ours.RandomForestRegressor(100, random_state=0).fit(X, y).score(X_test, y_test) > 0.2
    assert ours.GradientBoostingRegressor(max_iter=50, learning_rate=0.05).fit(X, y).score(X_test, y_test) > 0.2


def uneven(rows, seed):
    """Returns data with one-sided errors, larger where the last column is positive."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + random.exponential(1 + 2 * (X[:, 3] > 0))


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.99])
def test_quantiles_are_as_good_as_scikit_learns(share):
    X, y = uneven(4000, 0)
    new, truth = uneven(10000, 1)
    options = dict(loss="quantile", quantile=share, max_iter=60)
    with threadpool_limits(1):
        theirs = ensemble.HistGradientBoostingRegressor(**options).fit(X, y).predict(new)
    found = ours.GradientBoostingRegressor(**options).fit(X, y).predict(new)
    assert mean_pinball_loss(truth, found, alpha=share) < 1.02 * mean_pinball_loss(truth, theirs, alpha=share)
    assert abs(np.mean(truth <= found) - share) < abs(np.mean(truth <= theirs) - share) + 0.01
    machine = ours.BoostingMachineRegressor(objective="quantile", alpha=share, num_round=60, max_depth=5).fit(X, y).predict(new)
    assert mean_pinball_loss(truth, machine, alpha=share) < 1.05 * mean_pinball_loss(truth, theirs, alpha=share)


def test_absolute_errors_are_as_small_as_scikit_learns():
    X, y = uneven(4000, 0)
    y[::50] += 1e6  # outliers, which would dominate a mean
    new, truth = uneven(10000, 1)
    with threadpool_limits(1):
        theirs = ensemble.HistGradientBoostingRegressor(loss="absolute_error").fit(X, y).predict(new)
    found = ours.GradientBoostingRegressor(loss="absolute_error").fit(X, y).predict(new)
    assert mean_absolute_error(truth, found) < 1.02 * mean_absolute_error(truth, theirs)


def test_several_classes_take_scikit_learns_steps_and_machines_half_of_them():
    X, y = datasets.make_classification(3000, 10, n_informative=6, n_classes=4, random_state=0)
    options = dict(learning_rate=0.1, max_leaf_nodes=8, l2_regularization=2.0, early_stopping=False)
    with threadpool_limits(1):
        theirs = ensemble.HistGradientBoostingClassifier(max_iter=15, **options).fit(X, y).decision_function(X)
    steps = ours.GradientBoostingClassifier(max_iter=15, **options).fit(X, y).decision_function(X)
    assert np.corrcoef(steps.ravel(), theirs.ravel())[0, 1] > 0.97 and 0.97 < steps.std() / theirs.std() < 1.03
    first = dict(random_state=0, max_depth=3)
    one = ours.GradientBoostingClassifier(max_iter=1, max_leaf_nodes=None, min_samples_leaf=1, l2_regularization=2.0, **first).fit(X, y)
    machine = ours.BoostingMachineClassifier(num_round=1, lambda_l2=4.0, **first).fit(X, y)
    base = np.log(np.bincount(y) / len(y))
    np.testing.assert_allclose(2 * (machine.decision_function(X) - base), one.decision_function(X) - base, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_exact_splits_are_those_of_scikit_learn(form):
    random = np.random.default_rng(3)
    X = random.normal(size=(3000, 6))
    X[random.random(X.shape) < 0.3] = 0
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * random.normal(size=3000)
    exact = ours.DecisionTreeRegressor(max_depth=6, use_histograms=False).fit(form(X), y)
    theirs = tree.DecisionTreeRegressor(max_depth=6, random_state=0).fit(X, y)
    np.testing.assert_allclose(exact.predict(form(X)), theirs.predict(X), atol=1e-6)
    kinds = (y > 0).astype(int)
    exact = ours.DecisionTreeClassifier(use_histograms=False).fit(form(X), kinds)
    assert exact.score(form(X), kinds) == 1  # every row is in a separate leaf
    with pytest.raises(ValueError, match="DDL-9-28"):
        ours.DecisionTreeClassifier(use_histograms=False, categorical_features=[0]).fit(X, kinds)


def test_any_number_of_threads_gives_identical_models(made):
    X, X_test, y, _ = made
    for estimator in (ours.DecisionTreeClassifier(), ours.GradientBoostingClassifier(max_iter=10),
                      ours.RandomForestClassifier(7, random_state=3)):
        one = clone(estimator).set_params(n_jobs=1, random_state=3).fit(X, y)
        three = clone(estimator).set_params(n_jobs=3, random_state=3).fit(X, y)
        assert one.to_json() == three.to_json()


def test_sparse_zero_is_zero(cells):
    X, X_test, y, _ = cells
    X, X_test = np.where(X < 1, 0, X), np.where(X_test < 1, 0, X_test)
    dense = ours.DecisionTreeClassifier().fit(X, y)
    for form in (sp.csr_matrix, sp.csc_matrix):
        sparse = ours.DecisionTreeClassifier().fit(form(X), y)
        assert sparse.to_json() == dense.to_json()
        np.testing.assert_array_equal(sparse.predict_proba(form(X_test)), dense.predict_proba(X_test))


def test_layouts_and_types_agree(cells):
    X, X_test, y, _ = cells
    expected = ours.DecisionTreeClassifier().fit(X, y).predict_proba(X_test)
    for other in (np.asfortranarray(X), X[:, :], np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(ours.DecisionTreeClassifier().fit(other, y).predict_proba(np.asfortranarray(X_test)), expected)


def test_missing_values_and_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=3000), rng.integers(0, 12, 3000)]).astype(np.float64)
    y = np.isin(X[:, 1], [1, 4, 7, 8]) ^ (np.arange(3000) % 10 == 0)
    X[::5, 0] = np.nan
    one_cut = ours.DecisionTreeClassifier(max_depth=1, categorical_features=[1]).fit(X, y)
    assert one_cut.score(X, y) > 0.89
    unseen = ours.GradientBoostingClassifier(max_iter=5, categorical_features=[1]).fit(X, y)
    assert np.isfinite(unseen.predict_proba([[np.nan, 99], [0.0, np.nan]])).all()


def test_early_stopping_on_a_given_validation_set(made):
    X, X_test, y, y_test = (part[:3000] for part in made)
    model = ours.BoostingMachineClassifier(num_round=500, learning_rate=0.5, early_stopping_rounds=5)
    model.fit(X, y, X_val=X_test, y_val=y_test)
    assert model.n_iter_ < 200
    assert len(model.validation_losses_) == model.n_iter_ + 5
    assert log_loss(y_test, model.predict_proba(X_test)) == pytest.approx(min(model.validation_losses_), abs=1e-6)
    apart = ours.GradientBoostingClassifier(max_iter=500, learning_rate=0.5, early_stopping=True, random_state=0).fit(X, y)
    assert apart.n_iter_ < 200


def test_ridge_rounds_between_trees(made):
    X, X_test, y, y_test = (part[:3000].astype(np.float64) for part in made)
    X, X_test = X * 1e4 + 7e6, X_test * 1e4 + 7e6  # no scaling needed
    settings = dict(num_round=80, learning_rate=0.2, n_components=30, fit_intercept=True, random_state=1)
    trees, mixed, waves = (ours.BoostingMachineClassifier(tree_select_probability=share, **settings).fit(X, y) for share in (1, 0.7, 0))
    base = log_loss(y_test, np.full(len(y_test), y.mean()))
    assert log_loss(y_test, waves.predict_proba(X_test)) < 0.8 * base
    assert log_loss(y_test, mixed.predict_proba(X_test)) < 1.1 * log_loss(y_test, trees.predict_proba(X_test))
    again = pickle.loads(pickle.dumps(mixed))
    np.testing.assert_array_equal(again.predict_proba(X_test), mixed.predict_proba(X_test))
    with pytest.raises(ValueError, match="other than trees"):
        mixed.to_onnx()
    wrong = ours.BoostingMachineClassifier(tree_select_probability=1.5)
    with pytest.raises(ValueError, match="tree_probability"):
        wrong.fit(X, y)


def test_strings_pickle_clone_pipeline_search(cells):
    X, X_test, y, y_test = cells
    names = np.array(["no", "yes"])[y]
    model = ours.RandomForestClassifier(10, random_state=0).fit(X, names)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X_test), model.predict_proba(X_test))
    assert set(model.predict(X_test)) == {"no", "yes"}
    search = GridSearchCV(make_pipeline(StandardScaler(), ours.DecisionTreeClassifier()),
                          {"decisiontreeclassifier__max_depth": [2, 4]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.88


def test_pandas_names_are_kept(cells):
    pandas = pytest.importorskip("pandas")
    X, _, y, _ = cells
    frame = pandas.DataFrame(X[:, :3], columns=["a", "b", "c"])
    model = ours.DecisionTreeClassifier().fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.predict(frame).shape == y.shape


def test_importances_and_shap(cells):
    X, X_test, y, _ = cells
    model = ours.GradientBoostingClassifier(max_iter=10).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1)
    parts = model.shap_values(X_test)
    assert parts.shape == X_test.shape
    np.testing.assert_allclose(parts.sum(axis=1) + model.expected_value_, model.decision_function(X_test), atol=1e-9)


def test_class_weights(cells):
    X, X_test, y, _ = cells
    plain = ours.DecisionTreeClassifier(max_depth=2).fit(X, y)
    heavy = ours.DecisionTreeClassifier(max_depth=2, class_weight={0: 1, 1: 50}).fit(X, y)
    assert heavy.predict(X_test).sum() > plain.predict(X_test).sum()
    balanced = ours.DecisionTreeClassifier(max_depth=2, class_weight="balanced").fit(X, y)
    assert balanced.score(X, y) > 0.9


def test_memory_limit_is_kept_and_changes_nothing(tmp_path):
    program = Path(__file__).with_name("trees_within_memory.py")
    done = subprocess.run([sys.executable, program, tmp_path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("wrong", ["many", "12Q", -5, 1000])
def test_invalid_memory_limits_are_rejected(cells, wrong):
    X, _, y, _ = cells
    with pytest.raises(ValueError, match="memory_limit"):
        ours.DecisionTreeClassifier(memory_limit=wrong).fit(X, y)


def test_progress_is_shown(cells, capsys):
    X, _, y, _ = cells
    ours.RandomForestClassifier(3, verbose=True, n_jobs=1).fit(X, y)
    assert "tree 3 of 3" in capsys.readouterr().err


def test_use_gpu_reports_that_no_gpu_is_used(cells):
    X, _, y, _ = cells
    with pytest.warns(UserWarning, match="no GPU build"):
        ours.DecisionTreeClassifier(use_gpu=True, max_depth=1).fit(X, y)


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob", "reg:squarederror", "count:poisson"])
def test_models_of_xgboost_answer_alike(tmp_path, objective):
    xgboost = pytest.importorskip("xgboost")
    X, y = datasets.make_classification(500, 6, n_informative=4, n_classes=3, random_state=0)
    X = X.astype(np.float32)
    X[::7, 2] = np.nan
    if objective == "binary:logistic":
        y = (y > 0).astype(int)
    parameters = dict(objective=objective, max_depth=4, nthread=1, **(dict(num_class=3) if "multi" in objective else {}))
    booster = xgboost.train(parameters, xgboost.DMatrix(X, y), 8)
    booster.save_model(tmp_path / "x.json")
    mine = ours.import_xgboost(tmp_path / "x.json")
    np.testing.assert_allclose(mine.predict(X), booster.predict(xgboost.DMatrix(X)), rtol=2e-5, atol=1e-6)


def test_shap_values_are_those_of_xgboost(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y = datasets.make_regression(300, 5, random_state=0)
    X = X.astype(np.float32)
    booster = xgboost.train(dict(max_depth=5, nthread=1), xgboost.DMatrix(X, y), 6)
    booster.save_model(tmp_path / "x.json")
    theirs = booster.predict(xgboost.DMatrix(X), pred_contribs=True)[:, :-1]
    np.testing.assert_allclose(ours.import_xgboost(tmp_path / "x.json").shap_values(X)[:, 0, :], theirs, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("made_by", [tree.DecisionTreeClassifier(max_depth=5), tree.DecisionTreeRegressor(max_depth=5),
                                     ensemble.RandomForestClassifier(5), ensemble.ExtraTreesRegressor(5)])
def test_imported_scikit_learn_models_predict_the_same(made_by):
    X, y = datasets.make_classification(400, 6, n_informative=4, n_classes=3, random_state=0)
    X = X.astype(np.float32)
    theirs = clone(made_by).fit(X, y)
    expected = theirs.predict_proba(X) if hasattr(theirs, "classes_") else theirs.predict(X)
    np.testing.assert_allclose(ours.import_sklearn(theirs).predict(X), expected, atol=1e-9)


def test_other_models_of_scikit_learn_are_refused(cells):
    X, _, y, _ = cells
    for other in (ensemble.GradientBoostingClassifier(n_estimators=2), ensemble.AdaBoostClassifier(n_estimators=2)):
        with pytest.raises(TypeError, match="cannot be imported; decision trees"):
            ours.import_sklearn(other.fit(X, y))
    with pytest.raises(NotFittedError):
        ours.import_sklearn(tree.DecisionTreeClassifier())


def fields_of(message):
    """Yields (number, value) of each field of a protocol buffer."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = varint()
            at += size
            yield key >> 3, message[at - size : at]


def numbers_of(packed):
    """Returns the packed varints of a field."""
    values, value, shift = [], 0, 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def ask_onnx(text, row):
    """Evaluates the trees of an ONNX file according to its specification, without the link function."""
    graph = dict(fields_of(text))[7]
    node = next(value for number, value in fields_of(graph) if number == 1)
    attributes = {}
    for number, value in fields_of(node):
        if number == 5:
            parts = list(fields_of(value))
            name = dict(parts)[1].decode()
            attributes[name] = next((v for n, v in parts if n in (3, 4, 7, 8)), [v for n, v in parts if n == 9])
    ints = {name: numbers_of(value) for name, value in attributes.items()
            if isinstance(value, bytes) and name.endswith(("ids", "true"))}
    floats = {name: np.frombuffer(attributes[name], "<f4") for name in ("nodes_values", "target_weights", "base_values")}
    place = {key: i for i, key in enumerate(zip(ints["nodes_treeids"], ints["nodes_nodeids"]))}
    answer = np.array(floats["base_values"], dtype=np.float64)
    targets = {}
    for i, key in enumerate(zip(ints["target_treeids"], ints["target_nodeids"])):
        targets.setdefault(key, []).append((ints["target_ids"][i], floats["target_weights"][i]))
    for tree_id in sorted(set(ints["nodes_treeids"])):
        at = place[tree_id, 0]
        while attributes["nodes_modes"][at] == b"BRANCH_LEQ":
            value = row[ints["nodes_featureids"][at]]
            goes = ints["nodes_missing_value_tracks_true"][at] if np.isnan(value) else value <= floats["nodes_values"][at]
            at = place[tree_id, ints["nodes_truenodeids" if goes else "nodes_falsenodeids"][at]]
        for target, weight in targets[tree_id, ints["nodes_nodeids"][at]]:
            answer[target] += weight
    return answer


def ask_pmml(text, row):
    """Evaluates the trees of a PMML file according to its specification, without the link function."""
    space = "{http://www.dmg.org/PMML-4_4}"
    values = {f"x{i}": value for i, value in enumerate(row)}

    def score(node):
        children = node.findall(space + "Node")
        if not children:
            return float(node.get("score"))
        tests = [child.find(space + "SimplePredicate") for child in children]
        if np.isnan(values[tests[0].get("field")]):
            return score(next(child for child in children if child.get("id") == node.get("defaultChild")))
        is_true = {"lessOrEqual": np.less_equal, "greaterThan": np.greater}
        return score(next(child for child, test in zip(children, tests)
                          if is_true[test.get("operator")](values[test.get("field")], float(test.get("value")))))

    answers = []
    for segment in ElementTree.fromstring(text).find(f"{space}MiningModel/{space}Segmentation"):
        if segment.get("id").startswith("raw"):
            scores = [score(tree.find(space + "Node")) for tree in segment.iter(space + "TreeModel")]
            method = segment.find(f"{space}MiningModel/{space}Segmentation").get("multipleModelMethod")
            answers.append({"sum": np.sum, "average": np.mean}[method](scores)
                           + float(segment.find(f".//{space}Target").get("rescaleConstant")))
    return answers


def test_onnx_pmml_and_cpp_exports_predict_the_same(made, tmp_path):
    X, y = made[0][:2000].copy(), made[2][:2000]
    X[::9, 3] = np.nan
    model = ours.GradientBoostingClassifier(max_iter=5).fit(X, y)
    raw = model.decision_function(X)
    onnx = model.to_onnx()
    for i in range(0, 200, 3):
        assert ask_onnx(onnx, X[i])[0] == pytest.approx(raw[i], abs=1e-5)
    text = model.to_pmml()
    for i in range(0, 200, 3):
        assert ask_pmml(text, X[i].astype(np.float64))[0] == pytest.approx(raw[i], abs=1e-9)
    forest = ours.RandomForestClassifier(3, max_depth=4, random_state=0).fit(X, y)
    for i in range(0, 60, 3):
        assert ask_pmml(forest.to_pmml(), X[i].astype(np.float64)) == pytest.approx(forest.predict_proba(X[i : i + 1])[0], abs=1e-9)
    (tmp_path / "model.cc").write_text(model.to_cpp("ask"))
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", tmp_path / "model.so", tmp_path / "model.cc"], check=True)
    ask = ctypes.CDLL(str(tmp_path / "model.so")).ask
    answer = ctypes.c_double()
    expected = model.predict_proba(X)[:, 1]
    for i in range(0, 2000, 7):
        ask((ctypes.c_double * 20)(*X[i].astype(float)), ctypes.byref(answer))
        assert answer.value == pytest.approx(expected[i], abs=1e-12)


def test_categories_as_a_mask_are_those_of_their_numbers():
    random = np.random.default_rng(3)
    X = np.column_stack([random.integers(0, 9, 500), random.normal(size=500), random.integers(0, 9, 500)])
    y = (X[:, 2] % 2 + X[:, 1] > 0.5).astype(int)
    for estimator in (ours.DecisionTreeClassifier, ours.RandomForestRegressor, ours.GradientBoostingClassifier):
        by_mask, by_number = (estimator(categorical_features=chosen, random_state=1).fit(X, y) for chosen in ([False, False, True], [2]))
        assert by_mask.to_json() == by_number.to_json()


def test_trees_as_other_programs_read_them(cells):
    X, X_test, y, _ = cells
    for kind, options in ((ours.DecisionTreeClassifier, {}), (ours.DecisionTreeRegressor, dict(min_samples_leaf=5))):
        model = kind(max_depth=3, **options).fit(X, y)
        assert model.tree_.max_depth == model.get_depth() and model.tree_.n_leaves == model.get_n_leaves()
        assert tree.export_text(model).count("<=") == model.tree_.node_count - model.get_n_leaves()
        way = model.decision_path(X_test)
        np.testing.assert_array_equal(np.asarray(way.sum(axis=1)).ravel(), np.asarray(model.tree_.decision_path(X_test.astype(np.float32)).sum(axis=1)).ravel())
        assert all(way[i, leaf] == 1 for i, leaf in enumerate(model.apply(X_test)))
    for kind in (ours.RandomForestClassifier, ours.ExtraTreesRegressor):
        forest = kind(4, random_state=0).fit(X, y)
        ask = (lambda one: one.predict_proba(X_test)) if "Classifier" in kind.__name__ else (lambda one: one.predict(X_test))
        np.testing.assert_allclose(np.mean([ask(one) for one in forest.estimators_], axis=0), ask(forest), atol=1e-12)
        way, begins = forest.decision_path(X_test)
        assert begins[-1] == way.shape[1] == sum(one.tree_.node_count for one in forest.estimators_)
        np.testing.assert_array_equal(forest.predict(X_test, num_threads=1), forest.predict(X_test, n_jobs=2))
    X = np.column_stack([np.arange(200) % 7, np.arange(200)])
    with pytest.raises(AttributeError, match="categories"):
        ours.DecisionTreeClassifier(categorical_features=[0]).fit(X, X[:, 0] % 2).tree_


def test_regression_forests_are_as_good_as_scikit_learns():
    X, y = datasets.make_friedman1(1500, noise=1, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    mine = ours.RandomForestRegressor(30, max_depth=5, random_state=0).fit(X, y).score(X_test, y_test)
    theirs = ensemble.RandomForestRegressor(30, max_depth=5, random_state=0).fit(X, y).score(X_test, y_test)
    assert mine > theirs - 0.02
