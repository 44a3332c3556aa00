"""Base classes of the tree estimators: input validation, labels, weights, prediction and export."""

import copyreg
import math
import numbers
import os
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_random_state, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from tutti import _tree
from tutti.learn.matrices import without_duplicates

NO_VALUES = np.empty(0)


def _read_model(text):
    return _tree.read_model(text)


# For every protocol of pickle; that of pybind11 requires protocol 2.
copyreg.pickle(_tree.Model, lambda model: (_read_model, (model.to_json(),)))


def thread_count(*asked):
    """Return the number of threads for the first argument that is set; `n_jobs` as in scikit-learn, 0 stands for all
    CPUs.
    """
    jobs = next((one for one in asked if one), -1)
    if jobs == -1:
        return 0
    return max(1, len(os.sched_getaffinity(0)) + 1 + jobs if jobs < 0 else int(jobs))


def seed_of(random_state):
    """Draw a seed from a random state."""
    return int(check_random_state(random_state).randint(0, 2**31 - 1))


def keep(estimator, arguments):
    """Store every argument under its name, following scikit-learn's conventions."""
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def check_at_least(name, value, least, above=False):
    """Raise ValueError unless `value` is a number of at least `least`, or above it."""
    if not isinstance(value, numbers.Real) or value < least or (above and value == least):
        raise ValueError(f"{name}={value!r} must be {'above' if above else 'at least'} {least}")


def count_of(limit):
    """Return a limit as an integer of 32 bits; 0 for None. No tree reaches the largest one."""
    return min(int(limit or 0), 2**31 - 1)


def encode(y, block=1 << 20):
    """Return the classes, and the class index of each label as float64. Works in blocks to bound temporary memory."""
    parts = [np.unique(y[i : i + block]) for i in range(0, len(y), block)]
    classes = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
    codes = np.empty(len(y))
    for i in range(0, len(y), block):
        codes[i : i + block] = np.searchsorted(classes, y[i : i + block])
    return classes, codes


def columns_per_node(max_features, columns, default):
    """Return the number of columns sampled per node; 0 means all."""
    if max_features is None:
        return 0
    if max_features == "auto":
        max_features = default
        if max_features is None:
            return 0
    if max_features == "sqrt":
        wanted = int(np.sqrt(columns))
    elif max_features == "log2":
        wanted = int(np.log2(columns))
    elif isinstance(max_features, numbers.Integral):
        check_at_least("max_features", max_features, 1)
        wanted = int(max_features)
    elif isinstance(max_features, numbers.Real):
        check_at_least("max_features", max_features, 0, above=True)
        wanted = int(max_features * columns)
    else:
        raise ValueError(f"max_features={max_features!r} is invalid. Valid values: 'sqrt', 'log2', a number or None")
    return 0 if wanted >= columns else max(1, wanted)


def share_or_count(name, value, rows, least):
    """Convert a count or a fraction of the rows to a number of rows."""
    check_at_least(name, value, 0, above=True)
    if isinstance(value, numbers.Integral):
        check_at_least(name, value, least)
        return float(value)
    if value > 1:
        raise ValueError(f"{name}={value!r} is a fraction and must be at most 1.0. Pass an integer for a count")
    return max(float(least), float(np.ceil(value * rows)))


class TreeEstimator(BaseEstimator):
    """Base class of all tree estimators.

    float32 and float64 arrays, CSR and CSC matrices are not copied. NaN is a missing value; absent entries of a sparse
    matrix are 0.
    """

    def _check_x(self, X, reset):
        X = self._validate_data(X, reset=reset, accept_sparse=["csr", "csc"], dtype=[np.float32, np.float64],
                                force_all_finite=False)
        return self._check_values(X)

    def _check_x_y(self, X, y, **options):
        X, y = self._validate_data(X, y, accept_sparse=["csr", "csc"], dtype=[np.float32, np.float64],
                                   force_all_finite=False, **options)
        assert_all_finite(y, input_name="y", estimator_name=type(self).__name__)
        return self._check_values(X), y

    def _check_values(self, X):
        """Return X without duplicate entries; raise ValueError if a value is infinite."""
        X = without_duplicates(X)
        # One pass without copies; only the current block of a mapped file is resident.
        if _tree.has_infinite(X, self._threads()):
            raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
        return X

    def _weights(self, sample_weight, X):
        if sample_weight is None or X.shape[0] == 0:  # a rank without rows
            return NO_VALUES
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            raise ValueError("Negative values in sample_weight")
        return weights

    def _more_tags(self):
        return {"allow_nan": True}

    def _threads(self, *asked):
        """Return the number of threads; `asked` overrides the estimator for one call."""
        return thread_count(*asked, self.n_jobs, getattr(self, "num_threads", None), getattr(self, "n_threads", None))

    # Overridden by distributed estimators.
    def _is_distributed(self):
        return False

    def _seed(self):
        return seed_of(self.random_state)

    def _all_rows(self, rows):
        return rows

    def _all_weight(self, weights):
        """Return the exactly rounded sum of the weights, which does not depend on the distribution of rows over ranks.
        """
        return math.fsum(weights)

    def _class_weights(self, y):
        """Return the class weight of each row."""
        return compute_sample_weight(self.class_weight, y)

    def _warn_gpu(self):
        if getattr(self, "use_gpu", False):
            warnings.warn("use_gpu=True: tutti.learn has no GPU build; the fit runs on CPUs", stacklevel=3)

    @property
    def feature_importances_(self):
        """Fraction of the total gain per column."""
        check_is_fitted(self)
        return np.array(self.model_.importances())

    def apply(self, X):
        """Return the leaf index of each row in each tree."""
        check_is_fitted(self)
        return self.model_.leaves(self._check_x(X, reset=False), self._threads())

    def shap_values(self, X):
        """Return SHAP values: the contribution of each column to the raw prediction, relative to `expected_value_`.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (rows, columns)
            Rows to explain.

        Returns
        -------
        ndarray
            Shape (rows, columns), or (rows, classes, columns) for several classes.
        """
        check_is_fitted(self)
        values = self.model_.shap(self._check_x(X, reset=False), self._threads())[:, :, :-1]
        return values[:, 0, :] if values.shape[1] == 1 else values

    @property
    def expected_value_(self):
        """Mean raw prediction, one value per output."""
        check_is_fitted(self)
        zeros = np.zeros((1, self.n_features_in_))
        return self.model_.shap(zeros, 1)[0, :, -1]

    def to_json(self):
        """Return the model as JSON text; see docs/formats/trees.md."""
        check_is_fitted(self)
        return self.model_.to_json()

    def to_onnx(self):
        """Return the model as an ONNX file (bytes) with input x and output y, which is the prediction after the link.
        """
        check_is_fitted(self)
        return self.model_.to_onnx()

    def to_pmml(self):
        """Return the model as a PMML document."""
        check_is_fitted(self)
        return self.model_.to_pmml()

    def to_cpp(self, name="predict"):
        """Return C++ source code of the function `void name(const double* x, double* y)`."""
        check_is_fitted(self)
        return self.model_.to_cpp(name)

    def _categorical(self):
        """Return the indices of the categorical columns."""
        chosen = self.categorical_features
        if chosen is None:
            return []
        chosen = np.asarray(chosen)
        return [int(c) for c in (np.flatnonzero(chosen) if chosen.dtype == bool else chosen)]


class TreeClassifier(ClassifierMixin, TreeEstimator):
    """Base class of the classifiers."""

    def _encode(self, y):
        return encode(y)

    def _check_classes(self, X, y, sample_weight):
        """Return class codes 0, 1, ... of y, and sample weights multiplied by class weights."""
        check_classification_targets(y)
        self.classes_, codes = self._encode(y)
        self.n_classes_ = len(self.classes_)
        weights = self._weights(sample_weight, X)
        if self.class_weight is not None:
            of_class = self._class_weights(y)
            weights = of_class if len(weights) == 0 else weights * of_class
        return codes, weights

    def predict_proba(self, X, num_threads=None, n_jobs=None):
        """Return the class probabilities, shape (rows, classes). `num_threads` or `n_jobs`: threads of this call."""
        check_is_fitted(self)
        X = self._check_x(X, reset=False)
        if self.n_classes_ == 1:
            return np.ones((X.shape[0], 1))
        answers = self.model_.predict(X, self._threads(num_threads, n_jobs))
        if answers.shape[1] == 1:
            answers = np.concatenate([1 - answers, answers], axis=1)
        return answers

    def predict_log_proba(self, X, num_threads=None, n_jobs=None):
        """Return the logarithm of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, num_threads, n_jobs))

    def predict(self, X, num_threads=None, n_jobs=None):
        """Return the most probable class of each row. `num_threads` or `n_jobs`: threads of this call."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X, num_threads, n_jobs), axis=1)]


class TreeRegressor(RegressorMixin, TreeEstimator):
    """Base class of the regressors."""

    def predict(self, X, num_threads=None, n_jobs=None):
        """Return the predicted target of each row. `num_threads` or `n_jobs`: threads of this call."""
        check_is_fitted(self)
        return self.model_.predict(self._check_x(X, reset=False), self._threads(num_threads, n_jobs))[:, 0]
