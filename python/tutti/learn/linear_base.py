"""Base class of the linear estimators: input validation, weights, solver settings and fit results."""

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
    """Return the number of threads for `n_jobs` as in scikit-learn, except that None means all CPUs; 0 stands for all.
    """
    if n_jobs is None or n_jobs == -1:
        return 0
    return max(1, len(os.sched_getaffinity(0)) + 1 + n_jobs if n_jobs < 0 else int(n_jobs))


class Linear(BaseEstimator):
    """Base class of all linear estimators. Subclasses define the loss and map their parameters to penalties."""

    _ranks = None  # communicator of a distributed fit

    def _penalties(self, total_weight):
        """Return (l1, l2), relative to the sum of the losses."""
        raise NotImplementedError

    def _check_x(self, X, reset):
        return self._validate_data(X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=reset)

    def _check_both(self, X, y, **kind):
        if isinstance(X, DataFile):
            return self._check_file(X, y)
        if getattr(self, "memory_limit", None) is not None:
            byte_count(self.memory_limit)
            warnings.warn("memory_limit applies to a DataFile only: arrays are already in memory, and the fit is not limited. Write them with "
                          "save_data_file and fit DataFile(path)", stacklevel=3)
        # The fit itself checks for NaN and infinity, on all CPUs.
        return self._validate_data(X, y, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], force_all_finite=False, **kind)

    def _check_file(self, X, y):
        """Return the file itself, and its labels unless `y` is given."""
        y = X.handle.labels() if y is None else np.asarray(y)
        if len(y) != X.shape[0]:
            raise ValueError(f"{X.path} has {X.shape[0]} rows, but y has {len(y)} labels")
        self.n_features_in_ = X.shape[1]
        return X, y

    def _weights(self, sample_weight, X):
        if sample_weight is None and isinstance(X, DataFile):
            return X.handle.weights()
        if sample_weight is None or X.shape[0] == 0:  # a rank without rows
            return NO_WEIGHTS
        return _check_sample_weight(sample_weight, X, dtype=np.float64, only_non_negative=True)

    def _threads(self):
        named = getattr(self, "num_threads", None)
        return thread_count(named if named is not None else getattr(self, "n_jobs", None))

    def _total(self, X, weights):
        total = float(weights.sum()) if len(weights) else float(X.shape[0])
        return float(self._ranks.sum(np.array([total]))[0]) if self._ranks else total

    def _show(self):
        """Return a progress callback, or None."""
        if not self.verbose:
            return None
        return lambda iteration, seconds, objective, gap: print(
            f"iteration {iteration}: {seconds:.3f} s, objective {objective:.9g}, gap {gap:.3g}", flush=True)

    def _settings(self, X, weights, loss):
        l1, l2 = self._penalties(self._total(X, weights))
        if getattr(self, "use_gpu", False):
            warnings.warn("use_gpu=True: tutti.learn has no GPU build; the fit runs on CPUs", stacklevel=4)
        return {
            "loss": loss, "l1": l1, "l2": l2, "fit_intercept": bool(self.fit_intercept), "solver": getattr(self, "solver", "auto"),
            "penalise_intercept": bool(getattr(self, "penalise_intercept", False)),
            "intercept_value": float(getattr(self, "intercept_scaling", 1.0)),
            "tolerance": float(self.tol), "max_iterations": min(int(self.max_iter), 2**31 - 1), "threads": self._threads(), "show": self._show(),
            "ranks": self._ranks,
        }

    def _fit_one(self, X, labels, weights, loss, start=None, held=0, most_steps=None):
        """Fit one model. `held`: bytes the caller holds in addition to labels and weights; `most_steps`: overrides max_iter.
        """
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
        """Store the results of a fit as attributes, and warn if it did not converge. `results`: one dictionary per
        model.
        """
        self.n_iter_ = max([1, *(result["history"][-1][0] for result in results if result["history"])])
        self.dual_gap_ = max(result["dual_gap"] for result in results)
        self.objective_ = sum(result["objective"] for result in results)
        self.solver_, self.why_ = results[0]["solver"], results[0]["why"]
        if "stream" in results[0]:
            self.stream_ = results[0]["stream"]
        names = ("epochs", "passes", "t_elap_sec", "train_obj", "dual_gap")
        history = dict(zip(names, (list(column) for column in zip(*results[0]["history"]))))
        self.history_ = self.training_history_ = history
        self.is_interrupted_ = any(result["is_interrupted"] for result in results)
        if any(result["is_interrupted"] for result in results):
            warnings.warn("the fit was interrupted; the model is that of the last iteration", ConvergenceWarning, stacklevel=3)
        elif not all(result["has_converged"] for result in results) and self.n_iter_ < self.max_iter:
            warnings.warn(f"the duality gap stays at {self.dual_gap_:.3g}, above tol={self.tol:g} times the objective "
                          f"{self.objective_:.6g}: it is limited by floating-point precision. Pass float64 data or increase "
                          f"tol", ConvergenceWarning, stacklevel=3)
        elif not all(result["has_converged"] for result in results):
            warnings.warn(f"the duality gap is {self.dual_gap_:.3g} after max_iter={self.max_iter}. Increase max_iter or tol",
                          ConvergenceWarning, stacklevel=3)

    def _margins(self, X, coefficients, intercept):
        return _learn.margins(as_matrix(X), coefficients, float(intercept), 1 if X.shape[0] == 1 else self._threads())

    def _linear(self, X):
        """Return the margins of the rows: shape (rows,) for one model, else (rows, models)."""
        check_is_fitted(self, "coef_")
        if isinstance(X, DataFile):
            return np.concatenate([self._linear(rows) for rows, _, _ in X.chunks()])
        X = self._check_x(X, reset=False)
        if self.coef_.size == X.shape[1]:  # one model: without the fixed costs of the lines below
            return self._margins(X, self.coef_.reshape(-1), self.intercept_[0] if np.ndim(self.intercept_) else self.intercept_)
        coefficients = np.atleast_2d(self.coef_)
        intercepts = np.broadcast_to(np.atleast_1d(self.intercept_), coefficients.shape[0])
        margins = [self._margins(X, c, b) for c, b in zip(coefficients, intercepts)]
        return margins[0] if len(margins) == 1 else np.stack(margins, axis=1)
