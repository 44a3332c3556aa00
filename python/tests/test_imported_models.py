"""Imported models decide as their libraries do, and exported ones as the model."""

import json
import pickle
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import ensemble
from sklearn import tree as skl_tree

from tutti.learn import data, linear, tree

RANDOM = np.random.default_rng(0)
PMML = "{http://www.dmg.org/PMML-4_4}"


def near_bounds(X, thresholds):
    """Float64 values around the float32 numbers that split the data, where rounding decides."""
    bounds = np.asarray(thresholds, np.float64)
    offsets = np.spacing(np.abs(bounds).astype(np.float32)).astype(np.float64)
    near = [bounds, *(bounds + sign * share * offsets for share in (0.25, 0.5, 0.75, 1.0, 1.5) for sign in (-1, 1))]
    near += [np.nextafter(one, way) for one in near for way in (-np.inf, np.inf)]
    return RANDOM.choice(np.concatenate(near), size=(2000, X.shape[1]))


@pytest.mark.parametrize("estimator", [skl_tree.DecisionTreeRegressor(), ensemble.RandomForestClassifier(5), ensemble.ExtraTreesRegressor(5)])
def test_scikit_learn_rounds_to_float32(estimator):
    X = np.round(RANDOM.normal(size=(3000, 3)), 2)  # many ties in float64 that float32 separates from their midpoints
    model = estimator.fit(X, (X[:, 0] + X[:, 1] > 0).astype(float))
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    thresholds = np.concatenate([one.threshold[one.children_left >= 0] for one in trees])
    mine = tree.import_sklearn(model)
    for rows in (X, near_bounds(X, thresholds), near_bounds(X, thresholds).astype(np.float32)):
        expected = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
        np.testing.assert_allclose(mine.predict(rows), expected, atol=1e-9)


def test_xgboost_rounds_to_float32(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X = np.round(RANDOM.normal(size=(3000, 3)), 2)
    model = xgboost.XGBRegressor(n_estimators=10, max_depth=6).fit(X, X[:, 0] * X[:, 1])
    model.save_model(tmp_path / "x.json")
    trees = json.loads((tmp_path / "x.json").read_text())["learner"]["gradient_booster"]["model"]["trees"]
    rows = near_bounds(X, np.concatenate([one["split_conditions"] for one in trees]))
    np.testing.assert_allclose(tree.import_xgboost(tmp_path / "x.json").predict(rows), model.predict(rows), atol=1e-5)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_that_xgboost_does_not_see_are_missing(tmp_path, kind, dtype):
    xgboost = pytest.importorskip("xgboost")
    X = sp.random(2000, 8, 0.4, random_state=1, data_rvs=lambda size: RANDOM.normal(size=size)).tocsr().astype(dtype)
    y = np.asarray(X.sum(axis=1)).ravel() + (X[:, 0].toarray().ravel() != 0)
    model = xgboost.XGBRegressor(n_estimators=20).fit(X, y)
    model.save_model(tmp_path / "x.json")
    mine = tree.import_xgboost(tmp_path / "x.json")
    np.testing.assert_allclose(mine.predict(kind(X)), model.predict(X), atol=1e-4)
    np.testing.assert_allclose(mine.predict(X.toarray()), model.predict(X.toarray()), atol=1e-4)
    (tmp_path / "again.json").write_text(mine.to_json())
    np.testing.assert_array_equal(tree.read_trees(tmp_path / "again.json").predict(kind(X)), mine.predict(kind(X)))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("booster_options", [{}, {"num_parallel_tree": 3}])
def test_early_stopping_of_xgboost(tmp_path, classes, booster_options):
    xgboost = pytest.importorskip("xgboost")
    X = RANDOM.normal(size=(600, 5))
    y = np.digitize(X[:, 0] + RANDOM.normal(size=600), [-0.5, 0.5][: classes - 1])
    model = xgboost.XGBClassifier(n_estimators=100, early_stopping_rounds=3, **booster_options).fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
    assert model.best_iteration < 90
    for name in ("x.json", "x.ubj"):
        model.save_model(tmp_path / name)
        found = tree.import_xgboost(tmp_path / name).predict(X)
        expected = model.predict_proba(X)
        np.testing.assert_allclose(found, expected[:, 1] if classes == 2 else expected, atol=1e-5)


def pmml_value(node, row):
    """Evaluates one tree of a PMML document for a row of numbers."""
    def holds(child):
        simple, group = child.find(f"{PMML}SimplePredicate"), child.find(f"{PMML}SimpleSetPredicate")
        if simple is not None:
            value, limit = row[int(simple.get("field")[1:])], float(simple.get("value"))
            return value <= limit if simple.get("operator") == "lessOrEqual" else value > limit
        if group is not None:
            array = group.find(f"{PMML}Array")
            listed = {int(code) for code in (array.text or "").split()}
            assert len(listed) == int(array.get("n"))
            return (int(row[int(group.get("field")[1:])]) in listed) == (group.get("booleanOperator") == "isIn")
        return True

    children = [child for child in node.findall(f"{PMML}Node") if holds(child)]
    assert len(children) <= 1
    return pmml_value(children[0], row) if children else float(node.get("score"))


def test_unseen_categories_in_pmml():
    X = np.column_stack([RANDOM.integers(0, 8, 500), RANDOM.normal(size=500)])
    y = np.isin(X[:, 0], [1, 4, 6]) * 2 + X[:, 1]
    for seed in range(5):
        part = np.random.default_rng(seed).integers(0, 500, 200)
        model = tree.DecisionTreeRegressor(max_depth=5, categorical_features=[0], random_state=seed).fit(X[part], y[part])
        root = ElementTree.fromstring(model.to_pmml()).find(f".//{PMML}TreeModel/{PMML}Node")
        rows = np.column_stack([np.arange(200) % 20, RANDOM.normal(size=200)])
        np.testing.assert_allclose([pmml_value(root, row) for row in rows], model.predict(rows))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle(protocol, tmp_path):
    X, y = RANDOM.normal(size=(50, 3)), RANDOM.integers(0, 2, 50)
    for model in (tree.RandomForestClassifier(3), tree.BoostingMachineClassifier(num_round=3), linear.LogisticRegression(), linear.LinearSVC()):
        again = pickle.loads(pickle.dumps(model.fit(X, y), protocol=protocol))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    data.save_data_file(tmp_path / "rows", X, y, chunk_rows=10)
    file = pickle.loads(pickle.dumps(data.DataFile(tmp_path / "rows", 1, 2), protocol=protocol))
    np.testing.assert_array_equal(file.read()[0], data.DataFile(tmp_path / "rows", 1, 2).read()[0])
