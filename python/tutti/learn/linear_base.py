"""What the linear estimators share: input without copies, weights, the call of the solvers, and the known parameter names."""

import os
import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from tutti import _learn
from tutti.learn.data import DataFile
from tutti.learn.matrices import NO_WEIGHTS, as_matrix, byte_count


def thread_count(n_jobs):
    """n_jobs as in scikit-learn, but None means all processors: one fit uses them all."""
    if n_jobs is None or n_jobs == -1:
        return 0
    return max(1, len(os.sched_getaffinity(0)) + 1 + n_jobs if n_jobs < 0 else int(n_jobs))


class Linear(BaseEstimator):
    """Base of all linear estimators. Subclasses say their loss and how their parameters become penalties."""

    _ranks = None  # of a distributed fit

    def _penalties(self, total_weight):
        """(l1, l2) for the sum of the losses."""
        raise NotImplementedError

    def _check_x(self, X, reset):
        return self._validate_data(X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=reset)

    def _check_both(self, X, y, **kind):
        if isinstance(X, DataFile):
            return self._check_file(X, y)
        if getattr(self, "memory_limit", None) is not None:
            byte_count(self.memory_limit)
            warnings.warn("memory_limit is for a DataFile: arrays are in memory already, and the fit is not limited. Write them by save_data_file and "
                          "fit DataFile(path)", stacklevel=3)
        # That all is finite is checked by the fit, on all processors.
        return self._validate_data(X, y, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], force_all_finite=False, **kind)

    def _check_file(self, X, y):
        """It stays where it is; without a limit the solver reads it at once."""
        y = X.handle.labels() if y is None else np.asarray(y)
        if len(y) != X.shape[0]:
            raise ValueError(f"{X.path} has {X.shape[0]} rows, there are {len(y)} labels")
        self.n_features_in_ = X.shape[1]
        return X, y

    def _weights(self, sample_weight, X):
        if sample_weight is None and isinstance(X, DataFile):
            return X.handle.weights()
        if sample_weight is None:
            return NO_WEIGHTS
        return _check_sample_weight(sample_weight, X, dtype=np.float64, only_non_negative=True)

    def _threads(self):
        named = getattr(self, "num_threads", None)
        return thread_count(named if named is not None else getattr(self, "n_jobs", None))

    def _total(self, X, weights):
        total = float(weights.sum()) if len(weights) else float(X.shape[0])
        return float(self._ranks.sum(np.array([total]))[0]) if self._ranks else total

    def _show(self):
        if not self.verbose:
            return None
        return lambda iteration, seconds, objective, gap: print(
            f"iteration {iteration}: {seconds:.3f} s, objective {objective:.9g}, gap {gap:.3g}", flush=True)

    def _settings(self, X, weights, loss):
        l1, l2 = self._penalties(self._total(X, weights))
        if getattr(self, "use_gpu", False):
            warnings.warn("use_gpu=True: there is no GPU build of tutti.learn; all work is done by the processors", stacklevel=4)
        return {
            "loss": loss, "l1": l1, "l2": l2, "fit_intercept": bool(self.fit_intercept), "solver": getattr(self, "solver", "auto"),
            "penalise_intercept": bool(getattr(self, "penalise_intercept", False)),
            "intercept_value": float(getattr(self, "intercept_scaling", 1.0)),
            "tolerance": float(self.tol), "max_iterations": int(self.max_iter), "threads": self._threads(), "show": self._show(),
            "ranks": self._ranks,
        }

    def _fit_one(self, X, labels, weights, loss, start=None, held=0, most_steps=None):
        """`held`: bytes that the caller has beside labels and weights; `most_steps`: instead of max_iter."""
        settings = self._settings(X, weights, loss)
        if most_steps is not None:
            settings["max_iterations"] = most_steps
        if start is not None:
            settings["start_coefficients"], settings["start_intercept"] = start
        if isinstance(X, DataFile):
            return _learn.fit_file(X.handle, labels, weights, self._limit(held), settings)
        return _learn.fit_linear(as_matrix(X), labels, weights, settings)

    def _limit(self, held):
        limit = getattr(self, "memory_limit", None)
        return 0 if limit is None else max(1, byte_count(limit) - held)

    def _keep(self, results):
        """What is told about the fit; `results` has one dictionary per model."""
        self.n_iter_ = max(1, max(len(result["history"]) for result in results))
        self.dual_gap_ = max(result["dual_gap"] for result in results)
        self.objective_ = sum(result["objective"] for result in results)
        self.solver_ = results[0]["solver"]
        if "stream" in results[0]:
            self.stream_ = results[0]["stream"]
        names = ("epochs", "passes", "t_elap_sec", "train_obj", "dual_gap")
        history = dict(zip(names, (list(column) for column in zip(*results[0]["history"]))))
        self.history_ = self.training_history_ = history
        self.is_interrupted_ = any(result["is_interrupted"] for result in results)
        if any(result["is_interrupted"] for result in results):
            warnings.warn("the fit was interrupted; the model is what was there", ConvergenceWarning, stacklevel=3)
        elif not all(result["has_converged"] for result in results) and self.n_iter_ < self.max_iter:
            warnings.warn(f"the gap stays at {self.dual_gap_:.3g}, above tol={self.tol:g} of the objective: rounding decides now; give float64 data "
                          f"or raise tol", ConvergenceWarning, stacklevel=3)
        elif not all(result["has_converged"] for result in results):
            warnings.warn(f"the gap is {self.dual_gap_:.3g} after max_iter={self.max_iter}; raise max_iter or tol",
                          ConvergenceWarning, stacklevel=3)

    def _margins(self, X, coefficients, intercept):
        return _learn.margins(as_matrix(X), coefficients, float(intercept), self._threads())

    def _linear(self, X):
        """Margins of rows: one value, or one per model."""
        check_is_fitted(self)
        if isinstance(X, DataFile):
            return np.concatenate([self._linear(rows) for rows, _, _ in X.chunks()])
        X = self._check_x(X, reset=False)
        coefficients = np.atleast_2d(self.coef_)
        intercepts = np.broadcast_to(np.atleast_1d(self.intercept_), coefficients.shape[0])
        margins = [self._margins(X, c, b) for c, b in zip(coefficients, intercepts)]
        return margins[0] if len(margins) == 1 else np.stack(margins, axis=1)
