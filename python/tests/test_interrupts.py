"""Ctrl-C and other signals during fits."""

import signal

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from tutti.learn import linear
from tutti.learn import tree as ours


@pytest.fixture(scope="module")
def cells():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, random_state=0)


@pytest.mark.parametrize("estimator", [ours.RandomForestClassifier(10**5, max_depth=2), ours.GradientBoostingClassifier(max_iter=10**5)])
def test_ctrl_c_keeps_the_fitted_model(cells, estimator, ctrl_c):
    X, X_test, y, y_test = cells
    ctrl_c(0.3)
    with pytest.warns(UserWarning, match="interrupted"):
        estimator.fit(X, y)
    assert estimator.score(X_test, y_test) > 0.8


@pytest.mark.parametrize("estimator", [ours.RandomForestClassifier(10**5, verbose=True, n_jobs=2), ours.GradientBoostingClassifier(max_iter=10**5, verbose=True)])
def test_ctrl_c_in_a_progress_callback_keeps_the_fitted_model(cells, estimator, ctrl_c_in_output):
    X, X_test, y, y_test = cells
    with pytest.warns(UserWarning, match="interrupted"), ctrl_c_in_output():
        estimator.fit(X, y)
    assert estimator.model_.trees < 1000 and estimator.predict(X_test).shape == y_test.shape


def test_exceptions_of_signal_handlers_end_a_fit_and_propagate(cells):
    X, _, y, _ = cells

    def late(*_):
        raise TimeoutError("too late")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(TimeoutError, match="too late"):
            ours.RandomForestClassifier(10**6, max_depth=2, n_jobs=2).fit(X, y)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("estimator", [linear.LogisticRegression(verbose=1, tol=1e-12), linear.LogisticRegression(verbose=1, multi_class="ovr"),
                                       linear.LinearSVC(loss="hinge", verbose=1)])
def test_ctrl_c_during_verbose_output_keeps_the_fitted_model(estimator, ctrl_c_in_output):
    X = np.random.default_rng(0).normal(size=(2000, 30))
    with pytest.warns(ConvergenceWarning, match="interrupted"), ctrl_c_in_output():
        estimator.fit(X, np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5]))
    assert estimator.is_interrupted_ and estimator.coef_.shape == (3, 30)
