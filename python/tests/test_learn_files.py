"""Multinomial models with l1, warnings of fits, and conversion of files and arrays for the C++ library."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as skl
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from tutti.learn import data, linear, tree
from tutti.learn.matrices import byte_count


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_l1_of_several_classes_is_that_of_saga(load, penalty, as_given):
    X, y = load(return_X_y=True)
    X, weights = StandardScaler().fit_transform(X), 1.0 + np.arange(len(y)) % 3
    ratio = {} if penalty == "l1" else {"l1_ratio": 0.5}
    ours = linear.LogisticRegression(penalty, C=0.5, tol=1e-13, **ratio).fit(as_given(X), y, weights)
    theirs = skl.LogisticRegression(penalty=penalty, C=0.5, solver="saga", tol=1e-12, max_iter=100000, **ratio).fit(X, y, weights)
    assert np.abs(ours.coef_ - theirs.coef_).max() < 1e-6
    assert np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max() < 1e-6
    assert np.array_equal(ours.coef_ != 0, theirs.coef_ != 0)
    assert (ours.coef_ == 0).any()
    assert ours.dual_gap_ <= 1e-7 * ours.objective_


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_warm_start_of_several_classes(penalty):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = linear.LogisticRegression(penalty, C=1.0, warm_start=True).fit(X, y)
    first, objective = model.n_iter_, model.objective_
    model.fit(X, y)
    assert model.n_iter_ <= 2 < first
    assert model.objective_ == pytest.approx(objective, rel=1e-5)
    near = linear.LogisticRegression(penalty, C=1.1).fit(X, y).n_iter_
    assert model.set_params(C=1.1).fit(X, y).n_iter_ < near
    model.fit(X[:, :5], y)  # other columns: no warm start
    assert model.coef_.shape == (3, 5)


def test_a_gap_limited_by_float32_is_reported():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="floating-point precision"):
        linear.LogisticRegression(tol=1e-14).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linear.LogisticRegression().fit(X, y)
        linear.LogisticRegression(tol=1e-9).fit(X.astype(np.float64), y)


def test_memory_limits_mean_the_same_everywhere():
    assert byte_count("2GB") == byte_count("2 gb") == byte_count(2e9) == 2 * 10**9
    assert byte_count("2G") == byte_count("2GiB") == 2 * 2**30
    assert byte_count(None) == 0
    for wrong in ("much", "", "-1GB", 0, "0", -5, float("nan")):
        with pytest.raises(ValueError, match="memory_limit"):
            byte_count(wrong)
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="not limited"):
        linear.Ridge(memory_limit="2GB").fit(X, y)
    tree.DecisionTreeClassifier(memory_limit="2GB").fit(X, y)


def test_text_is_read_with_all_digits(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:0.1 2:3\n0 2:0.2\n")
    (tmp_path / "a.csv").write_text("1,0.1\n0,0.2\n")
    X, _ = data.load_svmlight_file(tmp_path / "a.svm", dtype=np.float64)
    assert X[0, 0] == 0.1 and X[1, 1] == 0.2
    assert data.load_svmlight_file(tmp_path / "a.svm")[0].dtype == np.float32
    X, _, _ = data.load_file(tmp_path / "a.csv", dtype=np.float64)
    assert X[:, 0].tolist() == [0.1, 0.2]
    assert data.load_file(tmp_path / "a.csv")[0].dtype == np.float32
    (tmp_path / "empty.svm").write_text("")
    with pytest.raises(OSError, match="DDL-9-03 .*empty.svm: the file has no rows"):
        data.load_svmlight_file(tmp_path / "empty.svm")


def test_strings_become_categories(tmp_path):
    lines = [f'"{town}, IT",{"yes" if town == "Rome" else "no"},{i % 7}' for i, town in enumerate(["Rome", "Bari", "Pisa"] * 40)]
    (tmp_path / "w.csv").write_text("town,buys,x\n" + "\n".join(lines) + "\n")
    X, y, weights, categories = data.load_file(tmp_path / "w.csv", label="buys", categories=True)
    assert categories == {0: ["Bari, IT", "Pisa, IT", "Rome, IT"], "label": ["no", "yes"]}
    assert weights is None and X.shape == (120, 2)
    with pytest.warns(FutureWarning, match="'words' is deprecated; use 'categories'"):
        assert data.load_file(tmp_path / "w.csv", label="buys", words=True)[3] == categories
    model = tree.DecisionTreeClassifier(max_depth=1, categorical_features=[c for c in categories if c != "label"]).fit(X, y)
    assert model.score(X, y) == 1


def test_codes_become_columns():
    X = data.from_codes([[0, 2], [1, 0]], sizes=[2, 4])
    assert X.toarray().tolist() == [[1, 0, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0]]
    assert data.from_codes([[0, 2], [1, 0]]).shape == (2, 5)
    linear.LogisticRegression().fit(X, [0, 1])
    for wrong in ([[0, 4]], [[-1, 0]]):
        with pytest.raises(ValueError, match="code"):
            data.from_codes(wrong, sizes=[2, 4])
    with pytest.raises(ValueError, match="the limit is 2147483647"):
        data.from_codes([[0, 0]], sizes=[2**31, 5])


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix])
def test_64_bit_indices_are_not_cut(form):
    wide = form(([1.0, 2.0, 3.0], ([0, 1, 2], [0, 5, 2**32 + 1])), shape=(3, 2**33)) if form is sp.csr_matrix else \
        form(([1.0, 2.0, 3.0], ([0, 5, 2**32 + 1], [0, 1, 1])), shape=(2**33, 2))
    with pytest.raises(ValueError, match="DDL-9-01 .*the limit is 2147483647"):
        from tutti import _learn
        from tutti.learn.matrices import as_matrix

        _learn.margins(as_matrix(wide), np.zeros(wide.shape[1] if form is sp.csc_matrix else 1), 0.0, 1)
    narrow = form(np.eye(3))
    narrow.indices, narrow.indptr = narrow.indices.astype(np.int64), narrow.indptr.astype(np.int64)
    linear.Ridge().fit(narrow, [1.0, 2.0, 3.0])
    tree.DecisionTreeRegressor().fit(narrow, [1.0, 2.0, 3.0])


def test_xgboost_in_binary(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y = load_wine(return_X_y=True)
    theirs = xgboost.XGBClassifier(n_estimators=5, max_depth=3).fit(X, y)
    for name in ("x.ubj", "x.json"):
        theirs.save_model(tmp_path / name)
        answers = tree.import_xgboost(tmp_path / name).predict(X.astype(np.float32))
        assert np.abs(answers - theirs.predict_proba(X)).max() < 1e-5
    (tmp_path / "cut.ubj").write_bytes((tmp_path / "x.ubj").read_bytes()[:500])
    with pytest.raises(ValueError, match="DDL-9-24 .*UBJSON is damaged. Save the model again"):
        tree.import_xgboost(tmp_path / "cut.ubj")
    theirs.save_model(tmp_path / "x.deprecated")
    with pytest.raises(ValueError, match="DDL-9-24"):
        tree.import_xgboost(tmp_path / "x.deprecated")
