"""Estimators with the parameters of Snap ML."""

import contextvars
import functools

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import normalize
from sklearn.utils import assert_all_finite

from tutti.learn import linear
from tutti.learn.data import DataFile
from tutti.learn.linear_base import thread_count
from tutti.learn.private import fit_private
from tutti.learn.tree import BoostingMachineClassifier, BoostingMachineRegressor
from tutti.learn.tree_base import seed_of

NEAR_MARGIN = 1e-3  # the known default of tol leaves support vectors that lie on the margin that far from it

_asked = contextvars.ContextVar("threads of one answer", default=None)


def _takes_threads(method):
    """The same with `num_threads` or `n_jobs` for this one call."""

    @functools.wraps(method)
    def answer(self, X, num_threads=None, n_jobs=None):
        token = _asked.set(num_threads or n_jobs or _asked.get())
        try:
            return method(self, X)
        finally:
            _asked.reset(token)

    return answer


class _Known:
    """How the known parameters become those of tutti.learn."""

    solver = "auto"
    penalise_intercept = True
    multi_class = "ovr"
    warm_start = False
    l1_ratio = None

    def __init_subclass__(cls):
        """Answers take a number of threads."""
        super().__init_subclass__()
        for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            if hasattr(cls, name) and not hasattr(getattr(cls, name), "__wrapped__"):
                setattr(cls, name, _takes_threads(getattr(cls, name)))

    def _threads(self):
        return super()._threads() if _asked.get() is None else thread_count(_asked.get())

    def _seed(self):
        return seed_of(self.random_state)

    def _check_both(self, X, y, **kind):
        if isinstance(X, DataFile) and (self.normalize or self.kernel != "linear"):
            raise ValueError("normalize and kernel need rows in memory, not a DataFile")
        X, y = super()._check_both(X, y, **kind)
        self._set_kernel(X)
        return self._as_fitted(X), y

    def _set_kernel(self, X):
        if self.kernel not in ("linear", "rbf"):
            raise ValueError(f"kernel={self.kernel!r}: there are linear and rbf")
        self.features_ = None
        if self.kernel == "rbf":
            self.features_ = RBFSampler(gamma=self.gamma, n_components=self.n_components, random_state=self._seed()).fit(X)

    def _check_x(self, X, reset):
        return self._as_fitted(super()._check_x(X, reset))

    def _as_fitted(self, X):
        """Rows of length 1 where asked for, then the random features that stand for a kernel."""
        X = normalize(X) if self.normalize else X
        return X if self.features_ is None else self.features_.transform(X)

    @property
    def model_sparsity_(self):
        """The share of coefficients that are not 0; with penalty l1."""
        if getattr(self, "penalty", "l2") != "l1":
            raise AttributeError("model_sparsity_ is of models with penalty='l1'")
        return float(np.mean(self.coef_ != 0))

    def _keep_parameters(self, parameters):
        for name, value in parameters.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _penalties(self, total_weight):
        if getattr(self, "penalty", "l2") not in ("l1", "l2"):
            raise ValueError(f"penalty={self.penalty!r}: there are l1 and l2")
        if not self.regularizer >= 0:
            raise ValueError(f"regularizer={self.regularizer!r} must be at least 0")
        return (self.regularizer, 0.0) if getattr(self, "penalty", "l2") == "l1" else (0.0, self.regularizer)

    def _more_tags(self):
        return {"poor_score": True,  # no intercept, unless asked for
                "_xfail_checks": {"check_sample_weights_invariance": "the known default of tol is coarse"}}

    def _fit_one(self, X, labels, weights, loss, start=None, held=0, most_steps=None):
        if not getattr(self, "privacy", False):
            return super()._fit_one(X, labels, weights, loss, start, held, most_steps)
        l1, l2 = self._penalties(0.0)
        if l1 > 0 or self.fit_intercept or len(weights):
            raise ValueError("privacy=True needs penalty l2, no intercept and no weights")
        if self._ranks is not None:
            raise ValueError("privacy=True does not work over ranks")
        if len(getattr(self, "classes_", ())) > 2:
            raise ValueError("privacy=True knows two classes: a fit for each of more would spend privacy_epsilon every time")
        assert_all_finite(X)
        coefficients = fit_private(X.tocsr() if hasattr(X, "tocsr") else X, labels, loss, l2, eta=self.eta, batch_size=self.batch_size,
                                   epsilon=self.privacy_epsilon, grad_clip=self.grad_clip, epochs=self.max_iter, random_state=None)
        return {"coefficients": coefficients, "intercept": 0.0, "objective": np.nan, "dual_gap": np.nan, "has_converged": True,
                "is_interrupted": False, "history": [(self.max_iter, self.max_iter, 0.0, np.nan, np.nan)], "solver": "private_sgd"}

    def _settings(self, X, weights, loss):
        settings = super()._settings(X, weights, loss)
        if settings["l1"] > 0:
            settings["penalise_intercept"] = False
        return settings


class LogisticRegression(_Known, linear.LogisticRegression):
    def __init__(self, max_iter=1000, regularizer=1.0, device_ids=None, verbose=False, use_gpu=False, class_weight=None, dual=True,
                 num_threads=None, penalty="l2", tol=1e-3, return_training_history=None, fit_intercept=False, intercept_scaling=1.0,
                 n_jobs=None, privacy=False, eta=0.3, batch_size=100, privacy_epsilon=10, grad_clip=1,
                 generate_training_history=None, memory_limit=None,
                 normalize=False, kernel="linear", gamma=1.0, n_components=100, random_state=None):
        self._keep_parameters(locals())


class SupportVectorMachine(_Known, linear.LinearSVC):
    def __init__(self, max_iter=1000, regularizer=1.0, device_ids=None, verbose=False, use_gpu=False, class_weight=None,
                 num_threads=None, loss="hinge", tol=1e-3, return_training_history=None, fit_intercept=False, intercept_scaling=1.0,
                 n_jobs=None, generate_training_history=None, memory_limit=None,
                 normalize=False, kernel="linear", gamma=1.0, n_components=100, random_state=None):
        self._keep_parameters(locals())

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        if not isinstance(X, DataFile):
            self._find_support(self._linear(X), np.asarray(y))
        return self

    def _find_support(self, margins, y):
        """`support_`: places of rows within the margin of any class against the rest; over ranks of this rank's rows, `n_support_` of all."""
        if margins.ndim == 1:
            is_within = margins * np.where(y == self.classes_[1], 1, -1) <= 1 + NEAR_MARGIN
        else:
            is_within = (margins * np.where(y[:, None] == self.classes_, 1, -1) <= 1 + NEAR_MARGIN).any(axis=1)
        self.support_ = np.flatnonzero(is_within)
        count = np.array([len(self.support_)], dtype=np.float64)
        self.n_support_ = int((count if self._ranks is None else self._ranks.sum(count))[0])


class LinearRegression(_Known, linear.LinearRegressor):
    def __init__(self, max_iter=1000, regularizer=1.0, device_ids=None, verbose=False, use_gpu=False, dual=True, num_threads=None,
                 penalty="l2", tol=1e-3, return_training_history=None, fit_intercept=False, intercept_scaling=1.0, n_jobs=None,
                 privacy=False, eta=0.3, batch_size=100, privacy_epsilon=10, grad_clip=1,
                 generate_training_history=None, memory_limit=None,
                 normalize=False, kernel="linear", gamma=1.0, n_components=100, random_state=None):
        self._keep_parameters(locals())


def BoostingMachine(objective="mse", num_round=10, min_max_depth=1, max_max_depth=6, learning_rate=0.1, parallel_by_example=False, **options):
    """The older name: a regressor for "mse", a classifier for "logloss". `parallel_by_example` is accepted and decides nothing."""
    kinds = {"mse": BoostingMachineRegressor, "logloss": BoostingMachineClassifier}
    if objective not in kinds:
        raise ValueError(f"objective={objective!r}: there are mse and logloss")
    return kinds[objective](num_round=num_round, min_max_depth=min_max_depth, max_max_depth=max_max_depth, learning_rate=learning_rate,
                            **options)
