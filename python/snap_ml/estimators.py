"""Estimators with the parameters of Snap ML."""

import numpy as np
from sklearn.utils import assert_all_finite

from tutti.learn import linear
from tutti.learn.private import fit_private


class _Known:
    """How the known parameters become those of tutti.learn."""

    solver = "auto"
    penalise_intercept = True
    multi_class = "ovr"
    warm_start = False
    l1_ratio = None

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

    def _fit_one(self, X, labels, weights, loss, start=None, held=0):
        if not getattr(self, "privacy", False):
            return super()._fit_one(X, labels, weights, loss, start, held)
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
                 generate_training_history=None, memory_limit=None):
        self._keep_parameters(locals())


class SupportVectorMachine(_Known, linear.LinearSVC):
    def __init__(self, max_iter=1000, regularizer=1.0, device_ids=None, verbose=False, use_gpu=False, class_weight=None,
                 num_threads=None, loss="hinge", tol=1e-3, return_training_history=None, fit_intercept=False, intercept_scaling=1.0,
                 n_jobs=None, generate_training_history=None, memory_limit=None):
        self._keep_parameters(locals())


class LinearRegression(_Known, linear.LinearRegressor):
    def __init__(self, max_iter=1000, regularizer=1.0, device_ids=None, verbose=False, use_gpu=False, dual=True, num_threads=None,
                 penalty="l2", tol=1e-3, return_training_history=None, fit_intercept=False, intercept_scaling=1.0, n_jobs=None,
                 privacy=False, eta=0.3, batch_size=100, privacy_epsilon=10, grad_clip=1,
                 generate_training_history=None, memory_limit=None):
        self._keep_parameters(locals())
