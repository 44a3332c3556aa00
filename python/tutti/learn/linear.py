"""Linear models with scikit-learn's API and parameter names.

Parameters that all estimators share:

- `tol`: relative tolerance. A fit stops when the certified duality gap is below this fraction of the objective;
  `dual_gap_` bounds the distance of the objective from its minimum.
- `max_iter`: maximum number of iterations.
- `solver`: "auto", "newton" (few columns), "newton_cg", "dual" (few rows, l2), "sdca", "working_set" (l1) or
  "interior_point" (hinge loss, few columns).
- `n_jobs`: number of threads of one fit; None means all CPUs. Results are bitwise identical for any number.
- `memory_limit`: bytes, or text such as "500MB"; streams a `DataFile` instead of loading it.
- `verbose`: print every iteration.

Fits of float32 data compute in float32. Ctrl-C ends a fit and keeps the current model.

Every fitted estimator has the attributes `coef_`, `intercept_`, `n_features_in_`, `n_iter_`, `dual_gap_`, `objective_`,
`solver_` (the solver that was used), `why_` (the reason for it, a short sentence), `history_` (per-iteration objective, gap and time) and `is_interrupted_`.
"""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import compute_class_weight, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from tutti import _learn
from tutti.learn.data import DataFile
from tutti.learn.defaults import FIT_INTERCEPT, MAX_ITER, SOLVER, TOL
from tutti.learn.linear_base import Linear
from tutti.learn.matrices import NO_WEIGHTS, as_matrix

__all__ = ["ElasticNet", "GammaRegressor", "Lasso", "LinearRegression", "LinearSVC", "LogisticRegression", "PoissonRegressor", "Ridge",
           "logistic_path"]


MANY = 1 << 18  # number of labels that are sorted at once


def _distinct(labels):
    """np.unique without sorting if there are two values."""
    low, high = labels.min(), labels.max()
    if np.all((labels == low) | (labels == high)):
        return np.unique([low, high])
    return np.unique(labels)


class LinearClassifier(ClassifierMixin, Linear):
    """Base class of the classifiers: binary, one-vs-rest or multinomial."""

    def _loss(self):
        raise NotImplementedError

    def _is_multinomial(self):
        return False

    def _classes_of(self, y):
        if not np.issubdtype(np.asarray(y).dtype, np.number) or len(y) <= MANY:
            check_classification_targets(y)
            return np.unique(y)
        # In blocks: a sorted copy of all labels would dominate memory use.
        classes = np.unique(np.concatenate([_distinct(y[i:i + MANY]) for i in range(0, len(y), MANY)]))
        check_classification_targets(classes)
        return classes

    def fit(self, X, y=None, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFile, shape (rows, columns)
            Features. float32 and float64 arrays, CSR and CSC are not copied.
        y : array-like, optional
            Class labels; by default those of the DataFile.
        sample_weight : array-like, optional
            Sample weights.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If there is only one class, or a parameter is invalid.
        """
        X, y = self._check_both(X, y)
        self.classes_ = self._classes_of(y)
        if len(self.classes_) < 2:
            raise ValueError(f"This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                             f"{self.classes_[0]!r}")
        weights = self._weights(sample_weight, X)
        if self.class_weight is not None:
            by_class = self._class_weights(y)
            weights = weights * by_class if len(weights) else by_class
        if isinstance(X, DataFile) and self.memory_limit is None:
            X = X.read()[0]
        is_multinomial = self._is_multinomial()
        if len(self.classes_) == 2:
            are_signs = y.dtype == np.float64 and tuple(self.classes_) == (-1, 1)
            targets = y if are_signs else np.where(y == self.classes_[1], 1.0, -1.0)
            del y  # memory_limit counts everything that is alive during the fit
            results = [self._fit_one(X, targets, weights, self._loss(), self._start(0))]
        else:
            codes = np.searchsorted(self.classes_, y).astype(np.int32)
            del y
            if is_multinomial:
                return self._fit_together(X, codes, weights)
            results = self._fit_one_by_one(X, codes, weights)
        self._keep(results)
        self.coef_ = np.stack([result["coefficients"] for result in results])
        self.intercept_ = np.array([result["intercept"] for result in results])
        return self

    def _fit_one_by_one(self, X, codes, weights):
        """Fit one-vs-rest models. After Ctrl-C the remaining models take one step; ranks, which must step together,
        continue.
        """
        results = []
        for k in range(len(self.classes_)):
            is_ended = self._ranks is None and any(result["is_interrupted"] for result in results)
            results.append(self._fit_one(X, np.where(codes == k, 1.0, -1.0), weights, self._loss(), self._start(k), held=codes.nbytes,
                                         most_steps=1 if is_ended else None))
        return results

    def _class_weights(self, y):
        """Return class weights per row, balanced over the rows of all ranks."""
        if self._ranks is None:
            return compute_sample_weight(self.class_weight, y)
        codes = np.searchsorted(self.classes_, y)
        if self.class_weight != "balanced":  # a rank may lack rows of some classes
            return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)[codes]
        counts = self._ranks.sum(np.bincount(codes, minlength=len(self.classes_)).astype(np.float64))
        return (counts.sum() / (len(counts) * counts))[codes]

    def _start(self, model):
        if not getattr(self, "warm_start", False) or not hasattr(self, "coef_") or model >= len(self.coef_):
            return None
        return (self.coef_[model], self.intercept_[model]) if self.coef_.shape[1] == self.n_features_in_ else None

    def _fit_together(self, X, codes, weights):
        """Fit a multinomial model."""
        settings, count = self._settings(X, weights, self._loss()), len(self.classes_)
        starts = [self._start(k) for k in range(count)]
        if None not in starts and len(self.coef_) == count:
            settings["start_coefficients"], settings["start_intercepts"] = self.coef_.ravel(), self.intercept_
        if isinstance(X, DataFile):
            result = _learn.fit_classes_file(X.handle, codes, count, weights, self._limit(0), settings)
        else:
            result = _learn.fit_classes(as_matrix(X), codes, count, weights, settings)
        self._keep([result])
        self.coef_ = result["coefficients"].reshape(len(self.classes_), -1)
        self.intercept_ = result["intercepts"]
        if settings["l1"] == 0:  # the same constant in all classes does not change a probability: 0 has the least l2 penalty
            self.coef_ -= self.coef_.mean(axis=0)
            self.intercept_ -= self.intercept_.mean()
        return self

    def decision_function(self, X):
        """Return the margins: shape (rows,) for two classes, else (rows, classes)."""
        return self._linear(X)

    def predict(self, X):
        """Return the predicted class of each row."""
        margins = self._linear(X)
        return self.classes_[(margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)]


class LogisticRegression(LinearClassifier):
    """Logistic regression; equivalent to `sklearn.linear_model.LogisticRegression`.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", None}, optional
        Penalty.
    C : float, optional
        Inverse regularisation strength.
    l1_ratio : float, optional
        Fraction of the l1 penalty for "elasticnet", from 0 to 1.
    fit_intercept : bool, optional
        Fit an intercept.
    class_weight : dict or "balanced", optional
        Class weights.
    multi_class : {"auto", "multinomial", "ovr"}, optional
        Multinomial or one-vs-rest models for more than two classes; "auto" means multinomial.
    penalise_intercept : bool, optional
        Penalise the intercept as the weight of a constant column.
    intercept_scaling : float, optional
        Value of that column.
    warm_start : bool, optional
        Start from the previous coefficients.
    random_state : object, optional
        Accepted for compatibility and ignored.
    tol, max_iter, solver, n_jobs, memory_limit, verbose
        See the module documentation.

    Examples
    --------
    >>> from tutti.learn.linear import LogisticRegression
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1]
    >>> model = LogisticRegression(C=10).fit(X, y)
    >>> model.predict(X)
    array([0, 0, 1, 1])
    >>> model.dual_gap_ <= model.tol * model.objective_
    True
    """

    def __init__(self, penalty="l2", *, C=1.0, l1_ratio=None, fit_intercept=FIT_INTERCEPT, class_weight=None, tol=TOL, max_iter=MAX_ITER,
                 solver=SOLVER, multi_class="auto", penalise_intercept=False, intercept_scaling=1.0, warm_start=False,
                 random_state=None, n_jobs=None, memory_limit=None, verbose=0):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.multi_class = multi_class
        self.penalise_intercept = penalise_intercept
        self.intercept_scaling = intercept_scaling
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _loss(self):
        return "logistic"

    def _strength(self):
        if not self.C > 0:
            raise ValueError(f"C={self.C!r} must be above 0")
        return 1 / self.C

    def _penalties(self, total_weight):
        if self.penalty in (None, "none"):
            return 0.0, 0.0
        ratios = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}
        ratio = ratios.get(self.penalty)
        if ratio is None or not 0 <= ratio <= 1:
            raise ValueError(f"penalty={self.penalty!r} with l1_ratio={self.l1_ratio!r} is invalid. Valid penalties: l2, l1, None, and "
                             f"elasticnet with l1_ratio from 0 to 1")
        return ratio * self._strength(), (1 - ratio) * self._strength()

    def _is_multinomial(self):
        if self.multi_class not in ("auto", "multinomial", "ovr"):
            raise ValueError(f"multi_class={self.multi_class!r} is invalid. Valid values: auto, multinomial, ovr")
        return self.multi_class != "ovr" and not self.penalise_intercept

    def predict_proba(self, X):
        """Return the class probabilities, shape (rows, classes)."""
        margins = self._linear(X)
        if margins.ndim == 1:
            positive = 0.5 * (1 + np.tanh(0.5 * margins))
            return np.stack([1 - positive, positive], axis=1)
        if self._is_multinomial():
            shares = np.exp(margins - margins.max(axis=1, keepdims=True))
        else:
            shares = 0.5 * (1 + np.tanh(0.5 * margins))
            shares[shares.sum(axis=1) == 0] = 1
        return shares / shares.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X):
        """Return the logarithm of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class LinearSVC(LinearClassifier):
    """Linear support vector machine with an l2 penalty; equivalent to `sklearn.svm.LinearSVC`.

    Unlike in scikit-learn the intercept is not penalised by default.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, optional
        Loss function.
    C : float, optional
        Inverse regularisation strength.
    fit_intercept, class_weight, penalise_intercept, intercept_scaling, random_state
        As for `LogisticRegression`.
    tol, max_iter, solver, n_jobs, memory_limit, verbose
        See the module documentation.
    """

    def __init__(self, loss="squared_hinge", *, C=1.0, fit_intercept=FIT_INTERCEPT, class_weight=None, tol=TOL, max_iter=MAX_ITER, solver=SOLVER,
                 penalise_intercept=False, intercept_scaling=1.0, random_state=None, n_jobs=None, memory_limit=None, verbose=0):
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.penalise_intercept = penalise_intercept
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _loss(self):
        if self.loss not in ("hinge", "squared_hinge"):
            raise ValueError(f"loss={self.loss!r} is invalid. Valid values: hinge, squared_hinge")
        return self.loss

    def _penalties(self, total_weight):
        if not self.C > 0:
            raise ValueError(f"C={self.C!r} must be above 0")
        return 0.0, 1 / self.C


class LinearRegressor(RegressorMixin, Linear):
    """Base class of the regressors.

    Parameters
    ----------
    alpha : float, optional
        Regularisation strength.
    fit_intercept : bool, optional
        Fit an intercept.
    warm_start : bool, optional
        Start from the previous coefficients.
    tol, max_iter, solver, n_jobs, memory_limit, verbose
        See the module documentation.
    """

    _loss = "squared"
    _link = staticmethod(lambda margins: margins)

    def __init__(self, alpha=1.0, *, fit_intercept=FIT_INTERCEPT, tol=TOL, max_iter=MAX_ITER, solver=SOLVER, warm_start=False, n_jobs=None,
                 memory_limit=None, verbose=0):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _strength(self):
        if not self.alpha >= 0:
            raise ValueError(f"alpha={self.alpha!r} must be at least 0")
        return self.alpha

    def fit(self, X, y=None, sample_weight=None):
        """Fit the model. Parameters as for `LinearClassifier.fit`, with numeric targets."""
        X, y = self._check_both(X, y, y_numeric=True)
        weights = self._weights(sample_weight, X)
        start = None
        if self.warm_start and getattr(self, "coef_", NO_WEIGHTS).shape == (X.shape[1],):
            start = (self.coef_, self.intercept_)
        result = self._fit_one(X, y.astype(np.float64, copy=False), weights, self._loss, start)
        self._keep([result])
        self.coef_ = result["coefficients"]
        self.intercept_ = np.float64(result["intercept"])
        return self

    def predict(self, X):
        """Return the predicted target of each row."""
        return self._link(self._linear(X))


class Ridge(LinearRegressor):
    """Least squares with an l2 penalty; equivalent to `sklearn.linear_model.Ridge` for one target.

    Minimises sum((y - Xw)^2) + alpha |w|^2. Parameters as for `LinearRegressor`.

    Examples
    --------
    >>> from tutti.learn.linear import Ridge
    >>> model = Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(3)
    array([1.333])
    """

    def _penalties(self, total_weight):
        return 0.0, self._strength()


class LinearRegression(LinearRegressor):
    """Ordinary least squares. Parameters as for `LinearRegressor`, without `alpha` and `warm_start`."""

    def __init__(self, *, fit_intercept=FIT_INTERCEPT, tol=TOL, max_iter=MAX_ITER, solver=SOLVER, n_jobs=None, memory_limit=None, verbose=0):
        super().__init__(0.0, fit_intercept=fit_intercept, tol=tol, max_iter=max_iter, solver=solver, n_jobs=n_jobs,
                         memory_limit=memory_limit, verbose=verbose)
        del self.alpha, self.warm_start

    warm_start = False

    def _penalties(self, total_weight):
        return 0.0, 0.0


class ElasticNet(LinearRegressor):
    """Least squares with l1 and l2 penalties; equivalent to `sklearn.linear_model.ElasticNet`.

    Minimises |y - Xw|^2 / (2 rows) + alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2).

    Parameters
    ----------
    alpha : float, optional
        Regularisation strength.
    l1_ratio : float, optional
        Fraction of the l1 penalty, from 0 to 1.
    fit_intercept, warm_start, tol, max_iter, solver, n_jobs, memory_limit, verbose
        As for `LinearRegressor`.
    """

    def __init__(self, alpha=1.0, *, l1_ratio=0.5, fit_intercept=FIT_INTERCEPT, tol=TOL, max_iter=MAX_ITER, solver=SOLVER, warm_start=False,
                 n_jobs=None, memory_limit=None, verbose=0):
        super().__init__(alpha, fit_intercept=fit_intercept, tol=tol, max_iter=max_iter, solver=solver, warm_start=warm_start,
                         n_jobs=n_jobs, memory_limit=memory_limit, verbose=verbose)
        self.l1_ratio = l1_ratio

    def _penalties(self, total_weight):
        if not 0 <= self.l1_ratio <= 1:
            raise ValueError(f"l1_ratio={self.l1_ratio!r} must be from 0 to 1")
        strength = self._strength() * total_weight
        return strength * self.l1_ratio, strength * (1 - self.l1_ratio)


class Lasso(LinearRegressor):
    """Least squares with an l1 penalty: `ElasticNet` with l1_ratio=1. Parameters as for `LinearRegressor`.

    Examples
    --------
    >>> from tutti.learn.linear import Lasso
    >>> Lasso(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [1.0, 3.0, 5.0, 7.0]).coef_.round(2)
    array([1.92, 0.  ])
    """

    def _penalties(self, total_weight):
        return self._strength() * total_weight, 0.0


class PoissonRegressor(LinearRegressor):
    """Poisson regression with log link; equivalent to `sklearn.linear_model.PoissonRegressor`.

    Parameters as for `LinearRegressor`.
    """

    _loss = "poisson"
    _link = staticmethod(np.exp)
    _power = 1  # Tweedie power: the variance is proportional to mean ** power

    def _penalties(self, total_weight):
        return 0.0, self._strength() * total_weight

    def score(self, X, y, sample_weight=None):
        """Return D^2, the fraction of the deviance that the model explains."""
        return d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=self._power)

    def _more_tags(self):
        return {"requires_positive_y": True}


class GammaRegressor(PoissonRegressor):
    """Gamma regression with log link; equivalent to `sklearn.linear_model.GammaRegressor`.

    Parameters as for `LinearRegressor`.
    """

    _loss = "gamma"
    _power = 2


def logistic_path(X, y, Cs, *, sample_weight=None, **parameters):
    """Fit logistic regression for several values of C with warm starts, from the strongest penalty to the weakest.

    Parameters
    ----------
    X, y, sample_weight
        As for `LogisticRegression.fit`.
    Cs : sequence of float
        Inverse regularisation strengths.
    **parameters
        Other parameters of `LogisticRegression`.

    Returns
    -------
    list of LogisticRegression
        The fitted models, in the order of `Cs`.
    """
    order = np.argsort(Cs)
    models, start = {}, None
    for index in order:
        model = LogisticRegression(C=float(Cs[index]), warm_start=True, **parameters)
        if start is not None:
            model.coef_, model.intercept_ = start
        models[index] = model.fit(X, y, sample_weight)
        start = model.coef_, model.intercept_
    return [models[index] for index in range(len(Cs))]
