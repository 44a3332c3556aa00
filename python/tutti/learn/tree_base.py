"""What the estimators of trees share: input, labels, weights, and how the known parameters are read."""

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

NO_VALUES = np.empty(0)


def thread_count(*asked):
    """The first that is given: n_jobs as in scikit-learn, but None or 0 means all processors: one fit uses them all."""
    jobs = next((one for one in asked if one), -1)
    if jobs == -1:
        return 0
    return max(1, len(os.sched_getaffinity(0)) + 1 + jobs if jobs < 0 else int(jobs))


def seed_of(random_state):
    return int(check_random_state(random_state).randint(0, 2**31 - 1))


def keep(estimator, arguments):
    """Every argument under its own name, as scikit-learn's conventions want it."""
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def check_at_least(name, value, least, above=False):
    if not isinstance(value, numbers.Real) or value < least or (above and value == least):
        raise ValueError(f"{name}={value!r} must be {'above' if above else 'at least'} {least}")


def encode(y, block=1 << 20):
    """The classes, and each label's place among them as float64; block by block, so that nothing else of y's size is made."""
    parts = [np.unique(y[i : i + block]) for i in range(0, len(y), block)]
    classes = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
    codes = np.empty(len(y))
    for i in range(0, len(y), block):
        codes[i : i + block] = np.searchsorted(classes, y[i : i + block])
    return classes, codes


def columns_per_node(max_features, columns, default):
    """0 for all columns, else how many each node draws."""
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
        raise ValueError(f"max_features={max_features!r} is none of 'sqrt', 'log2', a number and None")
    return 0 if wanted >= columns else max(1, wanted)


def share_or_count(name, value, rows, least):
    """A number of rows, given as such or as a share of them."""
    check_at_least(name, value, 0, above=True)
    if isinstance(value, numbers.Integral):
        check_at_least(name, value, least)
        return float(value)
    if value > 1:
        raise ValueError(f"{name}={value!r} is a share, so at most 1.0; give a whole number for a count")
    return max(float(least), float(np.ceil(value * rows)))


class TreeEstimator(BaseEstimator):
    """Takes dense arrays of float32 and float64 as they are, sparse ones as CSR or CSC; NaN is a missing value, what a sparse
    matrix does not hold is 0."""

    def _check_x(self, X, reset):
        X = self._validate_data(X, reset=reset, accept_sparse=["csr", "csc"], dtype=[np.float32, np.float64],
                                force_all_finite=False)
        self._refuse_infinite(X)
        return X

    def _check_x_y(self, X, y, **options):
        X, y = self._validate_data(X, y, accept_sparse=["csr", "csc"], dtype=[np.float32, np.float64],
                                   force_all_finite=False, **options)
        assert_all_finite(y, input_name="y", estimator_name=type(self).__name__)
        self._refuse_infinite(X)
        return X, y

    def _refuse_infinite(self, X):
        # One pass without copies; of a mapped file only what is being read is in memory.
        if _tree.has_infinite(X, self._threads()):
            raise ValueError("Input X contains infinity or a value too large for dtype('float32').")

    def _weights(self, sample_weight, X):
        if sample_weight is None:
            return NO_VALUES
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            raise ValueError("Negative values in sample_weight")
        return weights

    def _more_tags(self):
        return {"allow_nan": True}

    def _threads(self, *asked):
        """`asked`: of one call, before those of the estimator."""
        return thread_count(*asked, self.n_jobs, getattr(self, "num_threads", None), getattr(self, "n_threads", None))

    # What a fit over ranks asks the others for.
    def _is_distributed(self):
        return False

    def _seed(self):
        return seed_of(self.random_state)

    def _all_rows(self, rows):
        return rows

    def _all_weight(self, weights):
        """Exactly rounded, so that it does not depend on how rows are dealt."""
        return math.fsum(weights)

    def _class_weights(self, y):
        """Of each row."""
        return compute_sample_weight(self.class_weight, y)

    def _warn_gpu(self):
        if getattr(self, "use_gpu", False):
            warnings.warn("use_gpu=True: there is no GPU build of tutti.learn; all work is done by the processors", stacklevel=3)

    @property
    def feature_importances_(self):
        check_is_fitted(self)
        return np.array(self.model_.importances())

    def apply(self, X):
        """The leaf of each row in each tree."""
        check_is_fitted(self)
        return self.model_.leaves(self._check_x(X, reset=False), self._threads())

    def shap_values(self, X):
        """rows x columns, for several classes rows x classes x columns: how far each column moves the raw answer from its mean
        (expected_value_)."""
        check_is_fitted(self)
        values = self.model_.shap(self._check_x(X, reset=False), self._threads())[:, :, :-1]
        return values[:, 0, :] if values.shape[1] == 1 else values

    @property
    def expected_value_(self):
        check_is_fitted(self)
        zeros = np.zeros((1, self.n_features_in_))
        return self.model_.shap(zeros, 1)[0, :, -1]

    def to_json(self):
        """The model as text, as docs/formats/trees.md describes it."""
        check_is_fitted(self)
        return self.model_.to_json()

    def to_onnx(self):
        """The model as bytes of an ONNX file: input x, output y after the link."""
        check_is_fitted(self)
        return self.model_.to_onnx()

    def to_pmml(self):
        check_is_fitted(self)
        return self.model_.to_pmml()

    def to_cpp(self, name="predict"):
        """A C++ source with `void name(const double* x, double* y)`."""
        check_is_fitted(self)
        return self.model_.to_cpp(name)

    def _categorical(self):
        chosen = self.categorical_features
        if chosen is None:
            return []
        chosen = np.asarray(chosen)
        return [int(c) for c in (np.flatnonzero(chosen) if chosen.dtype == bool else chosen)]


class TreeClassifier(ClassifierMixin, TreeEstimator):
    def _encode(self, y):
        return encode(y)

    def _check_classes(self, X, y, sample_weight):
        """Codes 0, 1, ... of y, and weights with those of the classes."""
        check_classification_targets(y)
        self.classes_, codes = self._encode(y)
        self.n_classes_ = len(self.classes_)
        weights = self._weights(sample_weight, X)
        if self.class_weight is not None:
            of_class = self._class_weights(y)
            weights = of_class if len(weights) == 0 else weights * of_class
        return codes, weights

    def predict_proba(self, X, num_threads=None, n_jobs=None):
        check_is_fitted(self)
        X = self._check_x(X, reset=False)
        if self.n_classes_ == 1:
            return np.ones((X.shape[0], 1))
        answers = self.model_.predict(X, self._threads(num_threads, n_jobs))
        if answers.shape[1] == 1:
            answers = np.concatenate([1 - answers, answers], axis=1)
        return answers

    def predict_log_proba(self, X, num_threads=None, n_jobs=None):
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, num_threads, n_jobs))

    def predict(self, X, num_threads=None, n_jobs=None):
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X, num_threads, n_jobs), axis=1)]


class TreeRegressor(RegressorMixin, TreeEstimator):
    def predict(self, X, num_threads=None, n_jobs=None):
        check_is_fitted(self)
        return self.model_.predict(self._check_x(X, reset=False), self._threads(num_threads, n_jobs))[:, 0]
