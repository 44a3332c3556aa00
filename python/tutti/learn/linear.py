"""Linear models with scikit-learn's interface and parameters.

`tol` is the share of the objective that the certified duality gap may still be: `dual_gap_` says how far the optimum can be at most.
`n_jobs` counts the threads of one fit, None means all processors, and the model has the same bits for any number of them. Data in
float32 is computed in float32. `memory_limit` (bytes, or text as in 500MB) is for fits of a `DataFile` that is larger.
`solver`: auto, newton (few columns), newton_cg, sdca, working_set (l1), interior (hinge, few columns).
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


MANY = 1 << 18  # labels


def _distinct(labels):
    """np.unique, but two classes are told without sorting."""
    low, high = labels.min(), labels.max()
    if np.all((labels == low) | (labels == high)):
        return np.unique([low, high])
    return np.unique(labels)


class LinearClassifier(ClassifierMixin, Linear):
    """One model for two classes, else one per class against the rest, or all at once where the loss has that."""

    def _loss(self):
        raise NotImplementedError

    def _is_multinomial(self):
        return False

    def _classes_of(self, y):
        if not np.issubdtype(np.asarray(y).dtype, np.number) or len(y) <= MANY:
            check_classification_targets(y)
            return np.unique(y)
        # Piece by piece: sorted copies of all labels would be what takes most memory.
        classes = np.unique(np.concatenate([_distinct(y[i:i + MANY]) for i in range(0, len(y), MANY)]))
        check_classification_targets(classes)
        return classes

    def fit(self, X, y=None, sample_weight=None):
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
            del y  # a memory limit counts what lives during the fit
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
        """Each class against the rest. After Ctrl-C those that are left get one step; ranks, which must step together, go on."""
        results = []
        for k in range(len(self.classes_)):
            is_ended = self._ranks is None and any(result["is_interrupted"] for result in results)
            results.append(self._fit_one(X, np.where(codes == k, 1.0, -1.0), weights, self._loss(), self._start(k), held=codes.nbytes,
                                         most_steps=1 if is_ended else None))
        return results

    def _class_weights(self, y):
        """Per row; balanced over the rows of all ranks."""
        if self._ranks is None:
            return compute_sample_weight(self.class_weight, y)
        codes = np.searchsorted(self.classes_, y)
        if self.class_weight != "balanced":  # a rank need not have rows of every class
            return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)[codes]
        counts = self._ranks.sum(np.bincount(codes, minlength=len(self.classes_)).astype(np.float64))
        return (counts.sum() / (len(counts) * counts))[codes]

    def _start(self, model):
        if not getattr(self, "warm_start", False) or not hasattr(self, "coef_") or model >= len(self.coef_):
            return None
        return (self.coef_[model], self.intercept_[model]) if self.coef_.shape[1] == self.n_features_in_ else None

    def _fit_together(self, X, codes, weights):
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
        return self

    def decision_function(self, X):
        return self._linear(X)

    def predict(self, X):
        margins = self._linear(X)
        return self.classes_[(margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)]


class LogisticRegression(LinearClassifier):
    """As sklearn.linear_model.LogisticRegression: l2, l1, elasticnet or no penalty; multinomial for more than two classes."""

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
        shares = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}
        if self.penalty not in shares or shares[self.penalty] is None or not 0 <= shares[self.penalty] <= 1:
            raise ValueError(f"penalty={self.penalty!r} with l1_ratio={self.l1_ratio!r}: there are l2, l1, None, and elasticnet with a "
                             f"l1_ratio of 0 to 1")
        share = shares[self.penalty]
        return share * self._strength(), (1 - share) * self._strength()

    def _is_multinomial(self):
        if self.multi_class not in ("auto", "multinomial", "ovr"):
            raise ValueError(f"multi_class={self.multi_class!r}: there are auto, multinomial, ovr")
        return self.multi_class != "ovr" and not self.penalise_intercept

    def predict_proba(self, X):
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
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class LinearSVC(LinearClassifier):
    """As sklearn.svm.LinearSVC with an l2 penalty, but the intercept is not penalised unless penalise_intercept says so."""

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
            raise ValueError(f"loss={self.loss!r}: there are hinge and squared_hinge")
        return self.loss

    def _penalties(self, total_weight):
        if not self.C > 0:
            raise ValueError(f"C={self.C!r} must be above 0")
        return 0.0, 1 / self.C


class LinearRegressor(RegressorMixin, Linear):
    """Base of the regressors: one model."""

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
        X, y = self._check_both(X, y, y_numeric=True)
        weights = self._weights(sample_weight, X)
        start = None
        if self.warm_start and getattr(self, "coef_", NO_WEIGHTS).shape == (X.shape[1],):
            start = (self.coef_, self.intercept_)
        result = self._fit_one(X, y.astype(np.float64, copy=False), weights, self._loss, start)
        self._keep([result])
        self.coef_ = result["coefficients"]
        self.intercept_ = result["intercept"]
        return self

    def predict(self, X):
        return self._link(self._linear(X))


class Ridge(LinearRegressor):
    """Least squares with alpha times the squared length of the coefficients, as sklearn.linear_model.Ridge for one target."""

    def _penalties(self, total_weight):
        return 0.0, self._strength()


class LinearRegression(LinearRegressor):
    """Least squares."""

    def __init__(self, *, fit_intercept=FIT_INTERCEPT, tol=TOL, max_iter=MAX_ITER, solver=SOLVER, n_jobs=None, memory_limit=None, verbose=0):
        super().__init__(0.0, fit_intercept=fit_intercept, tol=tol, max_iter=max_iter, solver=solver, n_jobs=n_jobs,
                         memory_limit=memory_limit, verbose=verbose)
        del self.alpha, self.warm_start

    warm_start = False

    def _penalties(self, total_weight):
        return 0.0, 0.0


class ElasticNet(LinearRegressor):
    """Mean of half the squares plus alpha * (l1_ratio * |w|_1 + (1 - l1_ratio) / 2 * |w|^2), as in scikit-learn."""

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
    """ElasticNet with l1_ratio=1."""

    def _penalties(self, total_weight):
        return self._strength() * total_weight, 0.0


class PoissonRegressor(LinearRegressor):
    """Counts, with a logarithmic link, as sklearn.linear_model.PoissonRegressor."""

    _loss = "poisson"
    _link = staticmethod(np.exp)
    _power = 1  # of the mean, which the variance grows with

    def _penalties(self, total_weight):
        return 0.0, self._strength() * total_weight

    def score(self, X, y, sample_weight=None):
        """The explained share of the deviance (D2)."""
        return d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=self._power)

    def _more_tags(self):
        return {"requires_positive_y": True}


class GammaRegressor(PoissonRegressor):
    """Positive amounts, with a logarithmic link, as sklearn.linear_model.GammaRegressor."""

    _loss = "gamma"
    _power = 2


def logistic_path(X, y, Cs, *, sample_weight=None, **parameters):
    """Models for several C, each begun where the one before ended; the strongest penalty first, returned in the order of Cs."""
    order = np.argsort(Cs)
    models, start = {}, None
    for place in order:
        model = LogisticRegression(C=float(Cs[place]), warm_start=True, **parameters)
        if start is not None:
            model.coef_, model.intercept_ = start
        models[place] = model.fit(X, y, sample_weight)
        start = model.coef_, model.intercept_
    return [models[place] for place in range(len(Cs))]
