"""Linear estimators with the parameters of Snap ML."""

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

NEAR_MARGIN = 1e-3  # the default tol of Snap ML leaves support vectors on the margin this far from it

_requested_threads = contextvars.ContextVar("threads of one prediction", default=None)


def _with_thread_count(method):
    """Add the parameters `num_threads` and `n_jobs`, which override the estimator for one call, to a prediction method.
    """

    @functools.wraps(method)
    def predict(self, X, num_threads=None, n_jobs=None):
        token = _requested_threads.set(num_threads or n_jobs or _requested_threads.get())
        try:
            return method(self, X)
        finally:
            _requested_threads.reset(token)

    return predict


class _SnapParameters:
    """Mixin that maps the parameters of Snap ML to those of tutti.learn."""

    solver = "auto"
    penalise_intercept = True
    multi_class = "ovr"
    warm_start = False
    l1_ratio = None

    def __init_subclass__(cls):
        """Add `num_threads` and `n_jobs` to the prediction methods."""
        super().__init_subclass__()
        for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            if hasattr(cls, name) and not hasattr(getattr(cls, name), "__wrapped__"):
                setattr(cls, name, _with_thread_count(getattr(cls, name)))

    def _threads(self):
        return super()._threads() if _requested_threads.get() is None else thread_count(_requested_threads.get())

    def _seed(self):
        return seed_of(self.random_state)

    def _check_both(self, X, y, **kind):
        if isinstance(X, DataFile) and (self.normalize or self.kernel != "linear"):
            raise ValueError("normalize and kernel do not support a DataFile. Pass arrays")
        X, y = super()._check_both(X, y, **kind)
        self._set_kernel(X)
        return self._transformed(X), y

    def _set_kernel(self, X):
        if self.kernel not in ("linear", "rbf"):
            raise ValueError(f"kernel={self.kernel!r} is invalid. Valid values: linear and rbf")
        self.features_ = None
        if self.kernel == "rbf":
            self.features_ = RBFSampler(gamma=self.gamma, n_components=self.n_components, random_state=self._seed()).fit(X)

    def _check_x(self, X, reset):
        return self._transformed(super()._check_x(X, reset))

    def _transformed(self, X):
        """Normalise the rows, then apply random Fourier features, if the parameters request them."""
        X = normalize(X) if self.normalize else X
        return X if self.features_ is None else self.features_.transform(X)

    @property
    def model_sparsity_(self):
        """Fraction of nonzero coefficients; only with penalty "l1"."""
        if getattr(self, "penalty", "l2") != "l1":
            raise AttributeError("model_sparsity_ requires penalty='l1'")
        return float(np.mean(self.coef_ != 0))

    def _keep_parameters(self, parameters):
        for name, value in parameters.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _penalties(self, total_weight):
        if getattr(self, "penalty", "l2") not in ("l1", "l2"):
            raise ValueError(f"penalty={self.penalty!r} is invalid. Valid values: l1, l2")
        if not self.regularizer >= 0:
            raise ValueError(f"regularizer={self.regularizer!r} must be at least 0")
        return (self.regularizer, 0.0) if getattr(self, "penalty", "l2") == "l1" else (0.0, self.regularizer)

    def _more_tags(self):
        return {"poor_score": True,  # no intercept by default
                "_xfail_checks": {"check_sample_weights_invariance": "the default tol of Snap ML is coarse"}}

    def _fit_one(self, X, labels, weights, loss, start=None, held=0, most_steps=None):
        if not getattr(self, "privacy", False):
            return super()._fit_one(X, labels, weights, loss, start, held, most_steps)
        l1, l2 = self._penalties(0.0)
        if l1 > 0 or self.fit_intercept or len(weights):
            raise ValueError("privacy=True requires penalty l2, no intercept and no sample weights")
        if self._ranks is not None:
            raise ValueError("privacy=True does not support distributed fits")
        if len(getattr(self, "classes_", ())) > 2:
            raise ValueError("privacy=True supports two classes: every one-vs-rest fit would spend privacy_epsilon again")
        assert_all_finite(X)
        coefficients = fit_private(X.tocsr() if hasattr(X, "tocsr") else X, labels, loss, l2, eta=self.eta, batch_size=self.batch_size,
                                   epsilon=self.privacy_epsilon, grad_clip=self.grad_clip, epochs=self.max_iter, random_state=None)
        return {"coefficients": coefficients, "intercept": 0.0, "objective": np.nan, "dual_gap": np.nan, "has_converged": True,
                "is_interrupted": False, "history": [(self.max_iter, self.max_iter, 0.0, np.nan, np.nan)], "solver": "private_sgd",
                "why": "privacy=True needs gradient descent with noise"}

    def _settings(self, X, weights, loss):
        settings = super()._settings(X, weights, loss)
        if settings["l1"] > 0:
            settings["penalise_intercept"] = False
        return settings


class LogisticRegression(_SnapParameters, linear.LogisticRegression):
    """Logistic regression with the parameters of Snap ML.

    Parameters
    ----------
    max_iter : int, optional
        Maximum number of iterations.
    regularizer : float, optional
        Regularisation strength lambda.
    penalty : {"l2", "l1"}, optional
        Penalty.
    class_weight : dict or "balanced", optional
        Class weights.
    tol : float, optional
        Relative duality-gap tolerance.
    fit_intercept : bool, optional
        Fit an intercept.
    intercept_scaling : float, optional
        Value of the constant column whose weight is the intercept.
    num_threads, n_jobs : int, optional
        Number of threads; None means all CPUs.
    normalize : bool, optional
        Scale every row to unit L2 norm.
    kernel : {"linear", "rbf"}, optional
        "rbf" approximates an RBF kernel with random Fourier features.
    gamma, n_components, random_state : optional
        Width, number and seed of the random Fourier features.
    privacy : bool, optional
        Train with differentially private SGD, see `tutti.learn.private`. Two classes, penalty "l2" and no intercept.
    eta, batch_size, privacy_epsilon, grad_clip : optional
        Learning rate, batch size, privacy budget and clipping norm of private SGD.
    memory_limit : int or str, optional
        Memory limit for a `DataFile`.
    verbose : bool, optional
        Print every iteration.
    device_ids, use_gpu, dual, return_training_history, generate_training_history : optional
        Accepted for compatibility; see the package documentation.

    Examples
    --------
    >>> import snap_ml
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1]
    >>> snap_ml.LogisticRegression(fit_intercept=True).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(self, max_iter=1000, regularizer=1.0, device_ids=None, verbose=False, use_gpu=False, class_weight=None, dual=True,
                 num_threads=None, penalty="l2", tol=1e-3, return_training_history=None, fit_intercept=False, intercept_scaling=1.0,
                 n_jobs=None, privacy=False, eta=0.3, batch_size=100, privacy_epsilon=10, grad_clip=1,
                 generate_training_history=None, memory_limit=None,
                 normalize=False, kernel="linear", gamma=1.0, n_components=100, random_state=None):
        self._keep_parameters(locals())


class SupportVectorMachine(_SnapParameters, linear.LinearSVC):
    """Linear support vector machine with the parameters of Snap ML.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}, optional
        Loss function.
    max_iter, regularizer, ...
        As for `LogisticRegression`.

    Attributes
    ----------
    support_ : ndarray of int
        Indices of the support vectors among the rows of this rank.
    n_support_ : int
        Number of support vectors on all ranks.
    """

    def __init__(self, max_iter=1000, regularizer=1.0, device_ids=None, verbose=False, use_gpu=False, class_weight=None,
                 num_threads=None, loss="hinge", tol=1e-3, return_training_history=None, fit_intercept=False, intercept_scaling=1.0,
                 n_jobs=None, generate_training_history=None, memory_limit=None,
                 normalize=False, kernel="linear", gamma=1.0, n_components=100, random_state=None):
        self._keep_parameters(locals())

    def fit(self, X, y=None, sample_weight=None):
        """Fit the model and find the support vectors. Parameters as for `tutti.learn.linear.LinearSVC.fit`."""
        super().fit(X, y, sample_weight)
        if not isinstance(X, DataFile):
            self._find_support(self._linear(X), np.asarray(y).ravel())
        return self

    def _find_support(self, margins, y):
        """Set `support_` and `n_support_`: rows within the margin of any one-vs-rest model."""
        if margins.ndim == 1:
            is_within = margins * np.where(y == self.classes_[1], 1, -1) <= 1 + NEAR_MARGIN
        else:
            is_within = (margins * np.where(y[:, None] == self.classes_, 1, -1) <= 1 + NEAR_MARGIN).any(axis=1)
        self.support_ = np.flatnonzero(is_within)
        count = np.array([len(self.support_)], dtype=np.float64)
        self.n_support_ = int((count if self._ranks is None else self._ranks.sum(count))[0])


class LinearRegression(_SnapParameters, linear.LinearRegressor):
    """Least squares with an l2 or l1 penalty and the parameters of Snap ML. Parameters as for `LogisticRegression`."""

    def __init__(self, max_iter=1000, regularizer=1.0, device_ids=None, verbose=False, use_gpu=False, dual=True, num_threads=None,
                 penalty="l2", tol=1e-3, return_training_history=None, fit_intercept=False, intercept_scaling=1.0, n_jobs=None,
                 privacy=False, eta=0.3, batch_size=100, privacy_epsilon=10, grad_clip=1,
                 generate_training_history=None, memory_limit=None,
                 normalize=False, kernel="linear", gamma=1.0, n_components=100, random_state=None):
        self._keep_parameters(locals())


def BoostingMachine(objective="mse", num_round=10, min_max_depth=1, max_max_depth=6, learning_rate=0.1, parallel_by_example=False, **options):
    """Create a boosting estimator under Snap ML's older name.

    Parameters
    ----------
    objective : {"mse", "logloss"}, optional
        "mse" returns a `BoostingMachineRegressor`, "logloss" a `BoostingMachineClassifier`.
    num_round, min_max_depth, max_max_depth, learning_rate, **options
        Parameters of the estimator.
    parallel_by_example : bool, optional
        Accepted for compatibility and ignored.

    Returns
    -------
    BoostingMachineRegressor or BoostingMachineClassifier
        The estimator.
    """
    kinds = {"mse": BoostingMachineRegressor, "logloss": BoostingMachineClassifier}
    if objective not in kinds:
        raise ValueError(f"objective={objective!r} is invalid. Valid values: mse, logloss")
    return kinds[objective](num_round=num_round, min_max_depth=min_max_depth, max_max_depth=max_max_depth, learning_rate=learning_rate,
                            **options)
