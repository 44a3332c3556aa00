"""Linear models: scikit-learn's conventions, agreement with scikit-learn, the API of Snap ML."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as skl
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import snap_ml
from tutti.learn import data, linear, linear_base
from tutti.learn.private import DELTA, noise_deviation

ESTIMATORS = [linear.LogisticRegression(), linear.LogisticRegression(penalty="l1"), linear.LogisticRegression(solver="newton_cg"),
              linear.LinearSVC(), linear.LinearSVC(loss="hinge"), linear.Ridge(), linear.LinearRegression(), linear.Lasso(alpha=0.01),
              linear.ElasticNet(alpha=0.01), linear.PoissonRegressor(), linear.GammaRegressor(), snap_ml.LogisticRegression(),
              snap_ml.LinearRegression(), snap_ml.SupportVectorMachine(), snap_ml.LogisticRegression(normalize=True),
              snap_ml.SupportVectorMachine(kernel="rbf", random_state=0)]


@parametrize_with_checks(ESTIMATORS)
def test_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def same(ours, theirs, tolerance=1e-6):
    np.testing.assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), atol=tolerance)
    np.testing.assert_allclose(np.ravel(ours.intercept_), np.ravel(theirs.intercept_), atol=tolerance)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("solver", ["newton", "newton_cg"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_logistic_agrees(cancer, C, solver, fit_intercept):
    X, y = cancer
    weights = np.arange(len(y)) % 3 + 0.5
    ours = linear.LogisticRegression(C=C, tol=1e-15, solver=solver, fit_intercept=fit_intercept, class_weight="balanced").fit(X, y, weights)
    theirs = skl.LogisticRegression(C=C, tol=1e-12, solver="newton-cholesky", max_iter=1000, fit_intercept=fit_intercept,
                                    class_weight="balanced").fit(X, y, weights)
    same(ours, theirs)
    assert ours.dual_gap_ >= 0 and ours.n_iter_ >= 1 and ours.history_["train_obj"]


@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
def test_several_classes_agree(multi_class):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    names = np.array(["red", "white", "rose"])[y]
    ours = linear.LogisticRegression(tol=1e-14, multi_class=multi_class).fit(X, names)
    theirs = skl.LogisticRegression(tol=1e-10, max_iter=10000, solver="newton-cg", multi_class=multi_class).fit(X, names)
    same(ours, theirs, 1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert list(ours.predict(X)) == list(theirs.predict(X))


def test_l1_agrees(cancer):
    X, y = cancer
    theirs = skl.LogisticRegression(penalty="l1", C=0.1, solver="saga", tol=1e-9, max_iter=100000).fit(X, y)
    for solver in ["newton", "working_set"]:
        same(linear.LogisticRegression(penalty="l1", C=0.1, tol=1e-12, solver=solver).fit(X, y), theirs, 1e-5)
    theirs = skl.LogisticRegression(penalty="elasticnet", l1_ratio=0.5, C=0.1, solver="saga", tol=1e-9, max_iter=100000).fit(X, y)
    for solver in ["newton", "working_set"]:
        same(linear.LogisticRegression(penalty="elasticnet", l1_ratio=0.5, C=0.1, tol=1e-12, solver=solver).fit(X, y), theirs, 1e-5)


def test_regressors_agree():
    X, y = load_diabetes(return_X_y=True)
    weights = np.arange(len(y)) % 4 + 0.5
    for form in [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix]:
        same(linear.Ridge(alpha=0.3, tol=1e-14).fit(form(X), y, weights), skl.Ridge(alpha=0.3).fit(X, y, weights), 1e-5)
    same(linear.LinearRegression().fit(X, y), skl.LinearRegression().fit(X, y), 1e-6)
    for solver in ["newton", "working_set"]:
        same(linear.Lasso(alpha=0.05, tol=1e-13, solver=solver).fit(X, y), skl.Lasso(alpha=0.05, tol=1e-12, max_iter=10**6).fit(X, y), 1e-4)
        same(linear.ElasticNet(alpha=0.01, tol=1e-13, solver=solver).fit(X, y, weights),
             skl.ElasticNet(alpha=0.01, tol=1e-12, max_iter=10**6).fit(X, y, weights), 1e-4)
    same(linear.PoissonRegressor(alpha=0.1, tol=1e-14).fit(X, y), skl.PoissonRegressor(alpha=0.1, tol=1e-10, max_iter=1000).fit(X, y), 1e-5)
    same(linear.GammaRegressor(alpha=0.1, tol=1e-14).fit(X, y), skl.GammaRegressor(alpha=0.1, tol=1e-10, max_iter=1000).fit(X, y), 1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_svm_agrees(cancer, loss):
    X, y = cancer
    ours = linear.LinearSVC(loss=loss, C=0.1, penalise_intercept=True, tol=1e-9, max_iter=20000).fit(X, y)
    theirs = sklearn.svm.LinearSVC(loss=loss, C=0.1, dual=True, tol=1e-8, max_iter=1000000).fit(X, y)
    same(ours, theirs, 1e-3 if loss == "hinge" else 1e-5)


def test_svm_needs_no_scaling():
    X, y = load_breast_cancer(return_X_y=True)  # columns from 0.005 to 4000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [linear.LinearSVC(loss="hinge").fit(X, y), snap_ml.SupportVectorMachine(fit_intercept=True).fit(X, y)]
    for model in models:
        assert model.score(X, y) > 0.95


def test_float32_is_not_copied_and_close(cancer):
    X, y = cancer
    ours = linear.LogisticRegression(tol=1e-8).fit(X.astype(np.float32), y)
    same(ours, linear.LogisticRegression(tol=1e-12).fit(X, y), 2e-4)


def test_ones_of_a_sparse_matrix_and_wide_indices():
    X = sp.random(500, 60, 0.1, format="csr", random_state=1)
    X.data[:] = 1
    y = np.random.default_rng(1).integers(0, 2, 500)
    theirs = skl.LogisticRegression(tol=1e-12, solver="newton-cholesky").fit(X.toarray(), y)
    same(linear.LogisticRegression(tol=1e-14).fit(X, y), theirs)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    same(linear.LogisticRegression(tol=1e-14, solver="newton_cg").fit(X, y), theirs)


def test_threads_do_not_change_a_bit(cancer):
    X, y = cancer
    models = [linear.LogisticRegression(n_jobs=jobs).fit(X, y) for jobs in (1, 2, 3)]
    assert all((model.coef_ == models[0].coef_).all() for model in models)


def test_works_with_the_tools_of_scikit_learn(cancer):
    X, y = cancer
    search = GridSearchCV(make_pipeline(StandardScaler(), linear.LogisticRegression()), {"logisticregression__C": [0.1, 1]}, cv=3).fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (again.predict(X) == search.predict(X)).all()
    models = linear.logistic_path(X, y, [1.0, 0.01, 0.1])
    assert [model.C for model in models] == [1.0, 0.01, 0.1]
    assert abs(models[1].coef_).sum() < abs(models[2].coef_).sum() < abs(models[0].coef_).sum()


def test_unscaled_data_needs_no_warning():
    X, y = load_breast_cancer(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linear.LogisticRegression(C=1e4).fit(X * 1e3, y)


def test_the_known_local_program(tmp_path):
    X, y = make_classification(600, 20, random_state=0)
    (tmp_path / "train.libsvm").write_text("".join(
        f"{int(label)} " + " ".join(f"{j + 1}:{value:.6g}" for j, value in enumerate(row)) + "\n" for row, label in zip(X, y)))
    X, y = data.load_svmlight_file(tmp_path / "train.libsvm")
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = snap_ml.LogisticRegression(device_ids=[0, 1])
    model.fit(X_train, y_train)
    assert log_loss(y_test, model.predict_proba(X_test)) < 0.5


def test_known_names():
    X, y = make_classification(300, 5, random_state=1)
    ours = snap_ml.LogisticRegression(regularizer=2.0, num_threads=2, dual=True, tol=1e-12, return_training_history="summary",
                                       generate_training_history="full").fit(X, y)
    same(ours, skl.LogisticRegression(C=0.5, fit_intercept=False, solver="newton-cholesky", tol=1e-12).fit(X, y))
    assert ours.training_history_["train_obj"]
    with pytest.warns(UserWarning, match="no GPU"):
        snap_ml.LogisticRegression(use_gpu=True).fit(X, y)


def test_rows_of_length_one_and_a_kernel(cancer):
    X, y = cancer
    length = np.linalg.norm(X, axis=1, keepdims=True)
    plain = snap_ml.LogisticRegression(tol=1e-12).fit(X / length, y)
    same(snap_ml.LogisticRegression(tol=1e-12, normalize=True).fit(X, y), plain)
    for form in (np.asarray, sp.csr_matrix):
        model = snap_ml.LogisticRegression(normalize=True).fit(form(X), y)
        np.testing.assert_allclose(model.predict_proba(form(X)), model.predict_proba(X * 7))
    random = np.random.default_rng(0)
    rings = random.normal(size=(600, 2))
    inside = ((rings**2).sum(axis=1) < 1.4).astype(int)
    for kind in (snap_ml.LogisticRegression, snap_ml.SupportVectorMachine, snap_ml.LinearRegression):
        straight = kind(fit_intercept=True).fit(rings, inside).score(rings, inside)
        bent = kind(fit_intercept=True, kernel="rbf", regularizer=0.01, random_state=0).fit(rings, inside)
        assert bent.score(rings, inside) > straight + 0.2 and bent.coef_.shape[-1] == 100 and bent.n_features_in_ == 2
        again = kind(fit_intercept=True, kernel="rbf", regularizer=0.01, random_state=0).fit(rings, inside)
        np.testing.assert_array_equal(bent.coef_, again.coef_)
    with pytest.raises(ValueError, match="linear and rbf"):
        snap_ml.LogisticRegression(kernel="poly").fit(X, y)


def test_threads_of_one_answer_and_known_attributes(cancer, monkeypatch):
    X, y = cancer
    counts, margins = [], linear_base._learn.margins
    model = snap_ml.LogisticRegression(num_threads=1, penalty="l1", regularizer=5.0).fit(X, y)
    assert 0 < model.model_sparsity_ < 1 and not hasattr(snap_ml.LogisticRegression().fit(X, y), "model_sparsity_")
    support = snap_ml.SupportVectorMachine(num_threads=1, fit_intercept=True).fit(X, y)
    monkeypatch.setattr(linear_base, "_learn", SimpleNamespace(margins=lambda *given: counts.append(given[-1]) or margins(*given)))
    expected = model.predict_proba(X)
    for answer in (model.predict_proba(X, num_threads=2), np.exp(model.predict_log_proba(X, n_jobs=2)), model.predict(X, num_threads=2),
                   support.decision_function(X, num_threads=2)):
        assert len(answer) == len(X)
    assert counts == [1, 2, 2, 2, 2]
    np.testing.assert_array_equal(model.predict_proba(X, num_threads=2), expected)


def test_support_vectors_decide_alone(cancer):
    X, y = cancer
    model = snap_ml.SupportVectorMachine(tol=1e-9).fit(X, y)
    assert model.n_support_ == len(model.support_) < len(y) / 2
    same(snap_ml.SupportVectorMachine(tol=1e-9).fit(X[model.support_], y[model.support_]), model, 1e-3)
    several = snap_ml.SupportVectorMachine().fit(*load_wine(return_X_y=True))
    assert 0 < several.n_support_ <= 178


def test_scores_of_counts_are_shares_of_the_deviance():
    X, y = load_diabetes(return_X_y=True)
    weights = np.arange(len(y)) % 4
    for name in ("PoissonRegressor", "GammaRegressor"):
        ours, theirs = (getattr(place, name)(alpha=0.01, tol=1e-9, max_iter=1000).fit(X, y) for place in (linear, skl))
        assert abs(ours.score(X, y) - theirs.score(X, y)) < 1e-4
        # Integer weights are equivalent to repeated rows; scikit-learn 1.2 fails this check itself.
        assert abs(ours.score(X, y, weights) - ours.score(np.repeat(X, weights, axis=0), np.repeat(y, weights))) < 1e-9


def test_frames_and_lists_become_files(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 2.5], "c": [True, False, True]})
    frame["d"] = pandas.array([1, None, 3], dtype="Int64")
    for rows in (frame, frame.to_numpy(np.float64, na_value=np.nan).tolist()):
        data.save_data_file(tmp_path / "f", rows, pandas.Series([1, 0, 1]), sample_weight=[1, 2, 3])
        X, y, weights = data.load_data_file(tmp_path / "f")
        np.testing.assert_array_equal(X, [[1, 0.5, 1, 1], [2, np.nan, 0, np.nan], [3, 2.5, 1, 3]])
        assert list(y) == [1, 0, 1] and list(weights) == [1, 2, 3]
    data.save_data_file(tmp_path / "f", frame[["a", "b"]].astype(np.float32))
    assert data.load_data_file(tmp_path / "f")[0].dtype == np.float32
    data.write_snap_file(tmp_path / "s", frame[["a"]], [1, 0, 1])
    assert data.load_snap_file(tmp_path / "s")[0].shape == (3, 1)
    with pytest.raises(ValueError, match="column 'word' holds object"):
        data.save_data_file(tmp_path / "f", frame.assign(word=["x", "y", "z"]))


def test_bad_input_is_named():
    X, y = make_classification(50, 5, random_state=1)
    for wrong in [dict(C=-1), dict(penalty="l3"), dict(solver="none"), dict(multi_class="x")]:
        with pytest.raises(ValueError):
            linear.LogisticRegression(**wrong).fit(X, y)
    with pytest.raises(OSError, match="cannot open"):
        data.load_svmlight_file("/nowhere/x")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_files_round_trip(tmp_path, form):
    X, y = make_classification(60, 5, random_state=1)
    X[X < 0] = 0
    weights = np.arange(60.0)
    data.save_data_file(tmp_path / "f", form(X), y, weights, chunk_rows=13)
    again, labels, others = data.load_data_file(tmp_path / "f")
    assert abs(again - form(X)).max() == 0 and (labels == y).all() and (others == weights).all()
    part, labels, _ = data.load_data_file(tmp_path / "f", chunks=(1, 2))
    assert part.shape == (13, 5) and (labels == y[13:26]).all()
    data.write_snap_file(tmp_path / "s", form(X.astype(np.float32)), y)
    again, labels = data.load_snap_file(tmp_path / "s")
    assert abs(again - form(X.astype(np.float32))).max() == 0 and (labels == y).all()


def test_privacy_has_a_price_that_is_stated():
    rho = 3 / (2 * noise_deviation(2.0, 3) ** 2)
    assert abs(rho + 2 * np.sqrt(rho * np.log(1 / DELTA)) - 2.0) < 1e-9
    assert noise_deviation(1.0, 3) > noise_deviation(2.0, 3) < noise_deviation(2.0, 9)
    X, y = make_classification(4000, 6, n_informative=4, n_redundant=0, class_sep=2.0, random_state=2)
    for form in [np.asarray, sp.csr_matrix]:
        model = snap_ml.LogisticRegression(privacy=True, max_iter=5, privacy_epsilon=10).fit(form(X), y)
        assert model.score(form(X), y) > 0.8 and model.solver_ == "private_sgd"
    with pytest.raises(ValueError, match="no intercept"):
        snap_ml.LogisticRegression(privacy=True, fit_intercept=True).fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        snap_ml.LogisticRegression(privacy=True).fit(X, np.arange(len(y)) % 3)


def test_files_of_every_kind(tmp_path):
    X, y = np.arange(12.0).reshape(4, 3), np.array([1.0, 2.0, 1.0, 2.0])
    np.savez_compressed(tmp_path / "dense.npz", X=X, y=y)
    np.savetxt(tmp_path / "a.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    for path in ("dense.npz", "a.csv"):
        found, labels, weights = data.load_file(tmp_path / path)
        np.testing.assert_array_equal(found, X)
        np.testing.assert_array_equal(labels, y)
        assert weights is None
    np.save(tmp_path / "x.npy", np.asfortranarray(X.astype(np.float32)))
    found, labels, _ = data.load_file(tmp_path / "x.npy")
    assert labels is None and found.dtype == np.float32
    np.testing.assert_array_equal(found, X)
    for kind in (sp.csr_matrix, sp.csc_matrix):
        sp.save_npz(tmp_path / "s.npz", kind(X))
        np.testing.assert_array_equal(data.load_file(tmp_path / "s.npz")[0].toarray(), X)
    with pytest.raises(OSError, match="DDL-9-03 .*a.csv:3"):
        (tmp_path / "a.csv").write_text("a,y\n1,2\nx,3\n")
        data.load_file(tmp_path / "a.csv")


def test_a_file_larger_than_the_limit(tmp_path):
    random = np.random.default_rng(5)
    X = random.normal(size=(40000, 20)).astype(np.float32)
    y = (X[:, :3].sum(axis=1) + random.normal(size=40000) > 0).astype(int) + (X[:, 4] > 1)
    weights = random.uniform(0.5, 1.5, size=40000)
    path = tmp_path / "rows"
    data.save_data_file(path, X, y, weights, chunk_rows=1000)
    file = data.DataFile(path)
    for few in (True, False):
        labels = np.minimum(y, 1) if few else y
        limited = linear.LogisticRegression(tol=1e-9, memory_limit="8MB", multi_class="ovr").fit(file, labels)
        assert 0 < limited.stream_["residents"] < limited.stream_["chunks"] == 40
        same(limited, linear.LogisticRegression(tol=1e-9, multi_class="ovr").fit(X, labels, weights), 1e-4)
    np.testing.assert_array_equal(limited.predict(file), limited.predict(X))
    whole = linear.LogisticRegression(tol=1e-9).fit(file)  # no limit: loaded at once, with the weights of the file
    same(whole, linear.LogisticRegression(tol=1e-9).fit(X, y, weights), 1e-4)
    with pytest.raises(ValueError, match="memory_limit"):
        linear.Ridge(memory_limit="much").fit(file)
    together = linear.LogisticRegression(tol=1e-9, memory_limit="10.5MB").fit(file)  # multinomial
    assert 0 < together.stream_["residents"] < together.stream_["chunks"]
    same(together, whole, 1e-3)
    hinge = linear.LinearSVC("hinge", C=0.01, tol=1e-3, memory_limit="8MB").fit(file, np.minimum(y, 1))
    assert 0 < hinge.stream_["residents"] < 40 and hinge.score(X, np.minimum(y, 1)) > 0.75
    with pytest.raises(ValueError, match="DDL-9-12"):
        linear.LinearSVC("hinge", memory_limit="1MB").fit(file, np.minimum(y, 1))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("estimator", [linear.Lasso(alpha=1e-3), linear.Lasso(alpha=1e-3, fit_intercept=False), linear.ElasticNet(alpha=1e-3, l1_ratio=0.99),
                                       linear.LogisticRegression(penalty="l1", C=10)])
def test_l1_in_float32_reaches_the_default_tolerance(estimator, is_weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(loc=3, size=(4000, 60)).astype(np.float32)
    y = X[:, :8].astype(np.float64) @ rng.normal(size=8) + 0.01 * rng.normal(size=len(X))  # f32 sums leave the gap at 1e-4 of the objective
    weights = rng.integers(1, 4, len(X)) if is_weighted else None
    if hasattr(estimator, "predict_proba"):
        y = y + rng.normal(size=len(X)) > np.median(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        models = [clone(estimator).set_params(n_jobs=threads).fit(X, y, sample_weight=weights) for threads in (1, 2, 5)]
    assert models[0].dual_gap_ <= models[0].tol * models[0].objective_ and models[0].n_iter_ < 30
    for other in models[1:]:
        assert np.array_equal(other.coef_, models[0].coef_)
    precise = clone(estimator).set_params(tol=1e-10).fit(X.astype(np.float64), y.astype(np.float32).astype(np.float64), sample_weight=weights)
    same(models[0], precise, 1e-4)


@pytest.mark.parametrize("estimator", [linear.LogisticRegression(verbose=1), linear.Ridge(verbose=1), linear.LinearSVC(loss="hinge", verbose=1)])
def test_progress_is_shown(estimator, capsys):
    X = np.random.default_rng(0).normal(size=(200, 3))
    for y in ((X[:, 0] > 0) * 1, np.digitize(X[:, 0], [-0.5, 0.5])):
        estimator.fit(X, y)
        assert "iteration 1: " in capsys.readouterr().out


def counts_of_words(seed, rows, columns, spread=0.0):
    """Counts of words with Zipf frequencies, and labels of a sparse linear teacher."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.lognormal(np.log(60), 1, rows), 3, 3000).astype(int)
    frequency = 1 / np.arange(1, columns + 1) ** 1.05
    words = random.choice(columns, size=lengths.sum(), p=frequency / frequency.sum())
    X = sp.coo_matrix((np.ones(len(words)), (np.repeat(np.arange(rows), lengths), words)), shape=(rows, columns)).tocsr()
    X = X.multiply(np.exp(spread * random.normal(size=columns))).tocsr()
    signal = X @ (random.normal(size=columns) * (random.random(columns) < 0.05))
    return X, (signal + random.normal(size=rows) * np.median(abs(signal)) > np.median(signal)).astype(int)


@pytest.mark.parametrize("fit_intercept, solver, most", [(False, "sdca", 1.001), (True, "sdca", 1.1), (False, "auto", 1.0001), (True, "auto", 1.0001)])
def test_hinge_ends_near_the_optimum_on_counts(fit_intercept, solver, most):
    X, y = counts_of_words(0, 1000, 8000)
    signs = 2 * y - 1

    def objective(model):
        margins = X @ model.coef_.ravel() + np.ravel(model.intercept_)
        return 0.5 * (model.coef_ ** 2).sum() + np.maximum(0, 1 - signs * margins).sum()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = linear.LinearSVC(loss="hinge", fit_intercept=fit_intercept, solver=solver).fit(X, y)
    theirs = sklearn.svm.LinearSVC(loss="hinge", fit_intercept=fit_intercept, max_iter=100_000, tol=1e-6, random_state=0).fit(X, y)
    assert objective(ours) <= most * objective(theirs)
    assert objective(ours) == pytest.approx(ours.objective_)
    assert ours.objective_ == min(ours.history_["train_obj"])
    assert ours.n_iter_ == 1000 or not caught
    assert all("max_iter" in str(one.message) for one in caught), "rounding is not the reason"


def test_why_names_the_reason_for_the_solver():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 600)), random.normal(size=30)
    assert linear.Ridge().fit(X, y).why_ == "30 rows are fewer than 600 columns: the products of all rows are cheap"
    assert linear.Ridge().fit(X, y).solver_ == "dual"
    assert "600 dense columns" in linear.Lasso().fit(X, y).why_
    assert "5 columns" in linear.Ridge().fit(X[:, :5], y).why_
    assert linear.Ridge(solver="newton_cg").fit(X, y).why_ == "solver=newton_cg was requested"
    assert "multinomial" in linear.LogisticRegression().fit(X, np.arange(30) % 3).why_


@pytest.mark.parametrize("seed, rows, columns, spread", [(0, 800, 2000, 0.0), (1, 400, 4000, 0.0), (3, 800, 2000, 2.0), (4, 400, 4000, 2.0)])
def test_newton_cg_with_l1_does_not_stop_early_on_counts(seed, rows, columns, spread):
    X, y = counts_of_words(seed, rows, columns, spread)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        reference, ours = (linear.LogisticRegression(penalty="l1", C=10, solver=solver, max_iter=300).fit(X, y) for solver in ("working_set", "newton_cg"))
    assert ours.objective_ <= 1.05 * reference.objective_


@pytest.mark.parametrize("kind", ["counts", "factors"])
def test_working_sets_converge_on_correlated_columns(kind):
    # In a fixed order coordinate descent needs thousands of sweeps, and sets grow beyond the weights of the optimum.
    random = np.random.default_rng(0)
    if kind == "counts":
        X, y = counts_of_words(0, 1500, 8000)
    else:
        factors = random.normal(size=(150, 20)) * (10 / np.arange(1, 21))
        X = factors @ random.normal(size=(20, 3000)) + random.normal(size=(150, 3000))
        y = factors @ random.normal(size=20) + 3 * random.normal(size=150) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = linear.LogisticRegression(penalty="l1", solver="working_set").fit(X, y)
    assert model.dual_gap_ <= model.tol * model.objective_ and model.n_iter_ < 300


def test_infinite_coefficients_and_column_vectors():
    X = np.finfo(np.float64).max * np.random.default_rng(0).uniform(size=(10, 2))
    labels = np.arange(10) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for solver in ("auto", "working_set"):
            with pytest.raises(ValueError, match="too large"):
                linear.ElasticNet(alpha=0.1, solver=solver).fit(X, labels)
        for estimator in (linear.Ridge(), linear.LinearRegression(), linear.Lasso()):
            with pytest.raises(ValueError, match="too large"):
                estimator.fit(X / X.max(), labels * 1e200)
    assert isinstance(linear.Ridge().fit(X / X.max(), labels).intercept_, np.float64)
    X, y = make_classification(100, 5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = snap_ml.SupportVectorMachine().fit(X, y)
        column = snap_ml.SupportVectorMachine().fit(X, y[:, None])
    np.testing.assert_array_equal(column.support_, model.support_)


@pytest.mark.parametrize("C", [1e3, 1e5, 1e7])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_a_weak_l1_penalty_reaches_the_tolerance(C, l1_ratio):
    # Columns that depend on each other: coordinate descent hardly moves along their flat directions.
    X, y = make_classification(4000, 30, n_informative=10, n_redundant=5, flip_y=0.05, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = linear.LogisticRegression(penalty="elasticnet", l1_ratio=l1_ratio, C=C).fit(X, y)
    assert model.dual_gap_ <= model.tol * model.objective_ and model.n_iter_ < 60
