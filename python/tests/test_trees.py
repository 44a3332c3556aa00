"""Trees: scikit-learn's conventions, and answers as good as its own."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets, ensemble, tree
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tutti.learn import tree as ours

ESTIMATORS = [
    ours.DecisionTreeClassifier(n_jobs=1), ours.DecisionTreeRegressor(n_jobs=1),
    ours.RandomForestClassifier(5, n_jobs=1), ours.RandomForestRegressor(5, n_jobs=1),
    ours.ExtraTreesClassifier(5, n_jobs=1), ours.ExtraTreesRegressor(5, n_jobs=1),
    ours.GradientBoostingClassifier(max_iter=5, min_samples_leaf=5, n_jobs=1),
    ours.GradientBoostingRegressor(max_iter=5, min_samples_leaf=5, n_jobs=1),
    ours.BoostingMachineClassifier(num_round=5, n_jobs=1), ours.BoostingMachineRegressor(num_round=5, n_jobs=1),
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
    mine = ours.GradientBoostingClassifier(max_iter=60).fit(X, y).predict_proba(X_test)
    theirs = ensemble.HistGradientBoostingClassifier(max_iter=60, early_stopping=False).fit(X, y).predict_proba(X_test)
    assert log_loss(y_test, mine) < log_loss(y_test, theirs) * 1.03


def test_regression(cells):
    X, y = datasets.load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    assert ours.RandomForestRegressor(100, random_state=0).fit(X, y).score(X_test, y_test) > 0.2
    assert ours.GradientBoostingRegressor(max_iter=50, learning_rate=0.05).fit(X, y).score(X_test, y_test) > 0.2


def test_any_number_of_threads_gives_the_same_bits(made):
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


def test_early_stopping_on_ones_own_set(made):
    X, X_test, y, y_test = (part[:3000] for part in made)
    model = ours.BoostingMachineClassifier(num_round=500, learning_rate=0.5, early_stopping_rounds=5)
    model.fit(X, y, X_val=X_test, y_val=y_test)
    assert model.n_iter_ < 200
    assert len(model.validation_losses_) == model.n_iter_ + 5
    assert log_loss(y_test, model.predict_proba(X_test)) == pytest.approx(min(model.validation_losses_), abs=1e-6)
    apart = ours.GradientBoostingClassifier(max_iter=500, learning_rate=0.5, early_stopping=True, random_state=0).fit(X, y)
    assert apart.n_iter_ < 200


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


def test_use_gpu_says_that_there_is_none(cells):
    X, _, y, _ = cells
    with pytest.warns(UserWarning, match="no GPU build"):
        ours.DecisionTreeClassifier(use_gpu=True, max_depth=1).fit(X, y)
