"""Patched linear models. The `solver` of scikit-learn is ignored: all solvers reach the same optimum."""

import warnings

import numpy as np
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._logistic import _check_multi_class, _check_solver
from sklearn.utils.validation import column_or_1d

from snap_ml.patched_base import NotSupported, Patched, refuse, threads_of
from tutti.learn import linear

# Relative duality-gap tolerance. scikit-learn's `tol` refers to gradients; with this value the coefficients are at least as close to the optimum.
_GAP = 1e-8


def _gap(tol):
    return min(max(tol, 1e-12), _GAP)


# A fit of so few iterations is meant to end unfinished, with the warning of scikit-learn's solver.
_FEW_ITERATIONS = 10


def _steps(max_iter):
    """Return the iteration limit: the count of another solver must not stop this one early."""
    refuse(**{f"max_iter of at most {_FEW_ITERATIONS}": max_iter <= _FEW_ITERATIONS})
    return max(max_iter, 100)


def _with_constant(X, value):
    """Return X with an additional constant column, whose weight is penalised like the others."""
    column = np.full((X.shape[0], 1), value, dtype=X.dtype)
    return sp.hstack([X, sp.csr_matrix(column)], format="csr") if sp.issparse(X) else np.hstack([X, column])


class _PatchedLinear(Patched):
    """Base class of the patched linear models."""

    def fit(self, X, y, sample_weight=None, **options):
        with warnings.catch_warnings():  # float32 precision can end a fit before the requested gap is reached
            warnings.filterwarnings("ignore", "the duality gap stays", ConvergenceWarning)
            return super().fit(X, y, sample_weight, **options)

    def _take(self, X, model, *names):
        """Copy attributes; `coef_` and `intercept_` are float32 where scikit-learn's are."""
        super()._take(X, model, *names)
        is_single = getattr(X, "dtype", None) == np.float32 and self._keeps_float32()
        self.coef_ = self.coef_.astype(np.float32, copy=False) if is_single else self.coef_
        if not isinstance(self.intercept_, np.ndarray):
            self.intercept_ = (np.float32 if is_single else np.float64)(self.intercept_)
        elif is_single:
            self.intercept_ = self.intercept_.astype(np.float32)

    def _keeps_float32(self):
        """Return whether scikit-learn fits float32 rows in float32."""
        return True

    def _start_of(self, model):
        if getattr(self, "warm_start", False) and hasattr(self, "coef_"):
            refuse(**{"a start that is not finite": not np.isfinite(self.coef_).all()})
            model.set_params(warm_start=True)
            model.coef_, model.intercept_ = self.coef_, self.intercept_
        return model


class LogisticRegression(_PatchedLinear, sklearn.linear_model.LogisticRegression):
    __doc__ = sklearn.linear_model.LogisticRegression.__doc__

    def _fit_ours(self, X, y, sample_weight):
        _check_solver(self.solver, self.penalty, self.dual)
        classes = linear.LogisticRegression()._classes_of(column_or_1d(y))
        kind = _check_multi_class(self.multi_class, self.solver, len(classes))
        has_l1 = self.penalty == "l1" or (self.penalty == "elasticnet" and self.l1_ratio != 0)
        if kind == "multinomial" and len(classes) == 2:
            raise NotSupported("multi_class='multinomial' of two classes")
        model = linear.LogisticRegression(self.penalty, C=self.C, l1_ratio=self.l1_ratio, fit_intercept=self.fit_intercept,
                                          class_weight=self.class_weight, tol=_gap(self.tol), max_iter=_steps(self.max_iter), multi_class=kind,
                                          n_jobs=threads_of(self.n_jobs), verbose=self.verbose)
        self._warn_of_parameters()
        if self.solver == "liblinear" and self.fit_intercept:
            self._fit_penalised(model, X, y, sample_weight, has_l1)
        else:
            self._start_of(model).fit(X, y, sample_weight)
        self._take(X, model, "coef_", "intercept_", "classes_")
        self.n_iter_ = np.full(1 if len(classes) == 2 or kind == "multinomial" else len(classes), model.n_iter_, dtype=np.int32)

    def _keeps_float32(self):
        return self.solver not in ("lbfgs", "liblinear")

    def _warn_of_parameters(self):
        """Warn of parameters without an effect, with scikit-learn's messages."""
        if self.penalty != "elasticnet" and self.l1_ratio is not None:
            warnings.warn(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={self.penalty})", stacklevel=5)
        if self.penalty == "none":
            warnings.warn("`penalty='none'`has been deprecated in 1.2 and will be removed in 1.4. To keep the past behaviour, set "
                          "`penalty=None`.", FutureWarning, stacklevel=5)
        if self.penalty in (None, "none") and self.C != 1.0:
            warnings.warn("Setting penalty=None will ignore the C and l1_ratio parameters", stacklevel=5)
        if self.solver == "liblinear" and effective_n_jobs(self.n_jobs) != 1:
            warnings.warn(f"'n_jobs' > 1 does not have any effect when 'solver' is set to 'liblinear'. Got 'n_jobs' = "
                          f"{effective_n_jobs(self.n_jobs)}.", stacklevel=5)

    def _fit_penalised(self, model, X, y, sample_weight, has_l1):
        """Fit liblinear's penalised intercept: the weight of an additional constant column."""
        if not has_l1:
            model.set_params(penalise_intercept=True, intercept_scaling=self.intercept_scaling)
            self._start_of(model).fit(X, y, sample_weight)
            return
        X = self._validate_data(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        model.set_params(fit_intercept=False).fit(_with_constant(X, self.intercept_scaling), y, sample_weight)
        model.intercept_, model.coef_ = model.coef_[:, -1] * self.intercept_scaling, model.coef_[:, :-1]
        model.n_features_in_ -= 1


class LinearSVC(_PatchedLinear, sklearn.svm.LinearSVC):
    __doc__ = sklearn.svm.LinearSVC.__doc__

    def _fit_ours(self, X, y, sample_weight):
        refuse(penalty=self.penalty != "l2", multi_class=self.multi_class != "ovr", dual=self.loss == "hinge" and not self.dual)
        # The hinge loss is not smooth: on many columns the last digits take long, in liblinear too.
        gap = max(self.tol, 1e-9) if self.loss == "hinge" else _gap(self.tol)
        model = linear.LinearSVC(self.loss, C=self.C, fit_intercept=self.fit_intercept, class_weight=self.class_weight, tol=gap,
                                 max_iter=_steps(self.max_iter), penalise_intercept=self.fit_intercept, intercept_scaling=self.intercept_scaling,
                                 n_jobs=threads_of(None), verbose=self.verbose).fit(X, y, sample_weight)
        self._take(X, model, "coef_", "intercept_", "classes_", "n_iter_")

    def _keeps_float32(self):
        return False


class _OneTarget(_PatchedLinear):
    """Base class of the patched regressors. Several targets are left to scikit-learn."""

    def _fit_one_target(self, model, X, y, sample_weight):
        refuse(**{"several targets": np.asarray(y).ndim != 1})
        self._start_of(model).fit(X, y, sample_weight)
        self._take(X, model, "coef_", "intercept_", "n_iter_")
        return model


class LinearRegression(_OneTarget, sklearn.linear_model.LinearRegression):
    __doc__ = sklearn.linear_model.LinearRegression.__doc__

    def _fit_ours(self, X, y, sample_weight):
        refuse(positive=self.positive, **{"sparse data": sp.issparse(X), "several targets": np.asarray(y).ndim != 1})
        rows = self._validate_data(X, accept_sparse=True)
        refuse(**{"sparse columns": sp.issparse(rows)})
        lengths = self._lengths(rows, linear.LinearRegression()._weights(sample_weight, rows))
        model = linear.LinearRegression(fit_intercept=self.fit_intercept, tol=1e-14, n_jobs=threads_of(self.n_jobs))
        self._fit_one_target(model, X, y, sample_weight)
        del self.n_iter_
        self.rank_, self.singular_ = rows.shape[1], lengths

    def _lengths(self, X, weights):
        """Return the singular values. Refuse collinear columns, for which scikit-learn finds the minimum-norm solution.
        """
        X = X.astype(np.float64, copy=False)
        if self.fit_intercept:
            X = X - np.average(X, axis=0, weights=weights if len(weights) else None)
        if len(weights):
            X = X * np.sqrt(weights)[:, None]
        products = X.T @ X
        refuse(**{"products of columns that are not finite": not np.isfinite(products).all()})
        scale = np.sqrt(np.diag(products))
        refuse(**{"columns that depend on each other": X.shape[0] <= X.shape[1] or not (scale > 0).all()
                  or np.linalg.eigvalsh(products / np.outer(scale, scale))[0] < 1e-8})
        return np.sqrt(np.maximum(np.linalg.eigvalsh(products)[::-1], 0))


class Ridge(_OneTarget, sklearn.linear_model.Ridge):
    __doc__ = sklearn.linear_model.Ridge.__doc__

    def _fit_ours(self, X, y, sample_weight):
        refuse(positive=self.positive, solver=self.solver == "lbfgs", alpha=np.ndim(self.alpha) > 0 or self.alpha == 0)
        if sp.issparse(X) and self.fit_intercept:  # scikit-learn warns of these, or raises
            refuse(solver=self.solver not in ("auto", "sparse_cg"))
        model = linear.Ridge(self.alpha, fit_intercept=self.fit_intercept, tol=1e-14, n_jobs=threads_of(None))
        self._fit_one_target(model, X, y, sample_weight)
        self.n_iter_ = None


class ElasticNet(_OneTarget, sklearn.linear_model.ElasticNet):
    __doc__ = sklearn.linear_model.ElasticNet.__doc__
    _ours = linear.ElasticNet

    def _fit_ours(self, X, y, sample_weight):
        refuse(positive=self.positive, alpha=self.alpha == 0, precompute=isinstance(self.precompute, np.ndarray))
        model = self._ours(self.alpha, fit_intercept=self.fit_intercept, tol=_gap(self.tol), max_iter=_steps(self.max_iter),
                           n_jobs=threads_of(None), **self._mixture())
        self._fit_one_target(model, X, y, sample_weight)
        self.dual_gap_ = model.dual_gap_ / model._total(np.asarray(y), model._weights(sample_weight, np.asarray(y)))

    def _mixture(self):
        return dict(l1_ratio=self.l1_ratio)


class Lasso(ElasticNet, sklearn.linear_model.Lasso):
    __doc__ = sklearn.linear_model.Lasso.__doc__
    _ours = linear.Lasso

    def _mixture(self):
        return {}


class _PatchedGeneral(_OneTarget):
    """Base class of the patched Poisson and gamma regressors."""

    def _fit_ours(self, X, y, sample_weight):
        refuse(solver=not isinstance(self.solver, str), alpha=self.alpha == 0)
        y = column_or_1d(y, warn=True)
        self._base_loss = self._get_loss()
        if not self._base_loss.in_y_true_range(np.asarray(y, dtype=np.float64)):
            raise NotSupported("labels that this loss cannot have")
        # Newton's method squares the error with each step: nearly no time for a gap at the limit of precision.
        model = self._ours(self.alpha, fit_intercept=self.fit_intercept, tol=1e-14, max_iter=_steps(self.max_iter),
                           n_jobs=threads_of(None), verbose=self.verbose)
        self._fit_one_target(model, X, y, sample_weight)

    def _keeps_float32(self):
        return False


class PoissonRegressor(_PatchedGeneral, sklearn.linear_model.PoissonRegressor):
    __doc__ = sklearn.linear_model.PoissonRegressor.__doc__
    _ours = linear.PoissonRegressor


class GammaRegressor(_PatchedGeneral, sklearn.linear_model.GammaRegressor):
    __doc__ = sklearn.linear_model.GammaRegressor.__doc__
    _ours = linear.GammaRegressor
