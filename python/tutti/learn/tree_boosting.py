"""Gradient boosting with scikit-learn's API.

`GradientBoosting*` uses the parameter names of scikit-learn's HistGradientBoosting*, `BoostingMachine*` those of Snap
ML. Ctrl-C ends a fit and keeps the trees grown so far.
"""

import sys
import warnings

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from tutti import _tree
from tutti.learn.defaults import LEARNING_RATE, MAX_LEAVES, TREES
from tutti.learn.matrices import byte_count
from tutti.learn.tree_base import (NO_VALUES, TreeClassifier, TreeRegressor, check_at_least, columns_per_node, count_of, keep)


class _Boosted:
    """Base class of boosting estimators. Subclasses map their parameters to options."""

    def _check_validation(self, X_val, y_val, sample_weight_val, eval_set):
        if eval_set is not None:
            pairs = eval_set if isinstance(eval_set, list) else [eval_set]
            X_val, y_val = pairs[-1][:2]
        if X_val is None:
            return None, NO_VALUES, NO_VALUES
        X_val = self._check_x(X_val, reset=False)
        weights = self._weights(sample_weight_val, X_val)
        return X_val, np.asarray(y_val), weights

    def _set_aside(self, X, y, weights, share, seed, stratify):
        """Split off a fraction of the rows as validation set."""
        rows = np.arange(X.shape[0])
        kept, aside = train_test_split(rows, test_size=share, random_state=seed, stratify=y if stratify else None)
        pick = (lambda part: weights[part]) if len(weights) else (lambda part: NO_VALUES)
        return (X[kept], y[kept], pick(kept)), (X[aside], y[aside], pick(aside))

    def _progress(self):
        """Return a progress callback, or None."""
        if not self.verbose:
            return None

        def show(round_index, loss):
            text = "" if np.isnan(loss) else f", validation loss {loss:.6f}"
            print(f"round {round_index + 1}{text}", file=sys.stderr)
            return True

        return show

    def _boost(self, train, validation, options):
        self._warn_gpu()
        X, y, weights = train
        X_val, y_val, weights_val = validation
        options = {name: value for name, value in options.items() if value is not None}
        self.model_, self.validation_losses_, self.best_iteration_, interrupted = _tree.fit_boosting(
            X, y, weights, X_val, y_val, weights_val, options, self._threads(), self._progress(),
            self._is_distributed())
        self.n_iter_, self.is_interrupted_ = self.best_iteration_, interrupted
        if interrupted:
            warnings.warn(f"the fit was interrupted; the model has {self.n_iter_} rounds", stacklevel=3)
        return self


class _BoostedClassifier(_Boosted, TreeClassifier):
    def fit(self, X, y, sample_weight=None, X_val=None, y_val=None, sample_weight_val=None, eval_set=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (rows, columns)
            Features; NaN is a missing value.
        y : array-like
            Class labels.
        sample_weight : array-like, optional
            Sample weights.
        X_val, y_val, sample_weight_val : array-like, optional
            Validation set for early stopping.
        eval_set : (X, y) or list of (X, y), optional
            Validation set as in XGBoost; the last one is used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._check_x_y(X, y)
        codes, weights = self._check_classes(X, y, sample_weight)
        X_val, y_val, weights_val = self._check_validation(X_val, y_val, sample_weight_val, eval_set)
        if X_val is not None:
            codes_val = np.searchsorted(self.classes_, y_val)
            if (codes_val >= self.n_classes_).any() or (self.classes_[codes_val] != y_val).any():
                raise ValueError("the validation set has classes that are not in the training set")
            y_val = codes_val.astype(np.float64)
        options = self._options(X)
        options["objective"] = "softmax" if self.n_classes_ > 2 else "logistic"
        options["classes"] = self.n_classes_
        self._set_class_attributes()
        return self._boost(*self._split(X, codes, weights, (X_val, y_val, weights_val), options, True), options)

    def _set_class_attributes(self):
        pass

    def decision_function(self, X):
        """Return the raw scores: shape (rows,) for two classes, else (rows, classes)."""
        check_is_fitted(self)
        raw = self.model_.predict(self._check_x(X, reset=False), self._threads(), False)
        return raw[:, 0] if raw.shape[1] == 1 else raw


class _BoostedRegressor(_Boosted, TreeRegressor):
    _objectives = {"squared_error": "squared_error", "mse": "squared_error", "absolute_error": "absolute_error",
                   "poisson": "poisson", "quantile": "quantile"}

    def fit(self, X, y, sample_weight=None, X_val=None, y_val=None, sample_weight_val=None, eval_set=None):
        """Fit the model. Parameters as for the classifiers, with numeric targets."""
        X, y = self._check_x_y(X, y, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        weights = self._weights(sample_weight, X)
        X_val, y_val, weights_val = self._check_validation(X_val, y_val, sample_weight_val, eval_set)
        if X_val is not None:
            y_val = np.asarray(y_val, dtype=np.float64)
        options = self._options(X)
        name = self._loss_name()
        if name not in self._objectives:
            raise ValueError(f"loss {name!r} is invalid. Valid values: {sorted(self._objectives)}")
        options["objective"] = self._objectives[name]
        return self._boost(*self._split(X, y, weights, (X_val, y_val, weights_val), options, False), options)


class _GradientBoosting:
    """Parameters of scikit-learn's histogram boosting."""

    def _options(self, X):
        check_at_least("learning_rate", self.learning_rate, 0, above=True)
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("l2_regularization", self.l2_regularization, 0)
        check_at_least("min_samples_leaf", self.min_samples_leaf, 1)
        check_at_least("max_bins", self.max_bins, 2)
        return dict(
            rounds=count_of(self.max_iter),
            learning_rate=float(self.learning_rate),
            max_leaves=count_of(self.max_leaf_nodes),
            max_depth=count_of(self.max_depth),
            min_samples_leaf=float(self.min_samples_leaf),
            l2=float(self.l2_regularization),
            subsample=float(self.subsample),
            columns_per_tree=float(self.colsample_bytree),
            columns_per_node=columns_per_node(self.max_features, X.shape[1], None),
            max_bins=min(255, int(self.max_bins)),
            categorical=self._categorical(),
            seed=self._seed(),
            memory_limit=byte_count(self.memory_limit),
            exact_splits=not self.use_histograms,
        )

    def _split(self, X, y, weights, validation, options, stratify):
        stops = self.early_stopping is True or (self.early_stopping == "auto" and validation[0] is not None)
        if stops:
            options["early_stopping_rounds"] = int(self.n_iter_no_change)
            options["early_stopping_tolerance"] = float(self.tol)
        if stops and validation[0] is None:
            return self._set_aside(X, y, weights, self.validation_fraction, options["seed"], stratify)
        return (X, y, weights), validation


class GradientBoostingClassifier(_GradientBoosting, _BoostedClassifier):
    """Gradient boosting classifier with the parameters of `sklearn.ensemble.HistGradientBoostingClassifier`.

    Parameters
    ----------
    learning_rate : float, optional
        Shrinkage of each tree.
    max_iter : int, optional
        Number of boosting rounds.
    max_leaf_nodes, max_depth : int, optional
        Limits of each tree; None means no limit.
    min_samples_leaf : int, optional
        Minimum number of rows in a leaf.
    l2_regularization : float, optional
        L2 penalty on leaf values.
    use_histograms : bool, optional
        False searches exact splits between any two values; slower.
    max_bins : int, optional
        Maximum number of bins per column, at most 255.
    subsample, colsample_bytree : float, optional
        Fraction of rows and columns sampled per tree.
    max_features : int, float, "sqrt" or "log2", optional
        Columns sampled per node; None means all.
    categorical_features : array-like of int or bool, optional
        Columns of category codes 0, 1, ...
    early_stopping : bool or "auto", optional
        Stop when the validation loss no longer improves. "auto": if a validation set is passed to `fit`.
    validation_fraction : float, optional
        Fraction of the rows split off for early stopping if no validation set is passed.
    n_iter_no_change : int, optional
        Rounds without improvement before stopping.
    tol : float, optional
        Smallest decrease of the loss that counts as improvement.
    class_weight : dict or "balanced", optional
        Class weights.
    n_jobs : int, optional
        Number of threads; None means all CPUs.
    random_state : int, RandomState or None, optional
        Seed of the sampling.
    memory_limit : int or str, optional
        Limit on the memory of the process, in bytes or as "2GB", for out-of-core training.
    verbose : bool, optional
        Print every round.

    Attributes
    ----------
    classes_ : ndarray
        Class labels.
    n_iter_, best_iteration_ : int
        Number of rounds in the model.
    validation_losses_ : list of float
        Validation loss after each round.
    feature_importances_ : ndarray
        Fraction of the total gain per column.

    Examples
    --------
    >>> from tutti.learn.tree import GradientBoostingClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> GradientBoostingClassifier(max_iter=20, min_samples_leaf=1).fit(X, y).predict([[0.2], [2.9]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(self, *, learning_rate=LEARNING_RATE, max_iter=TREES, max_leaf_nodes=MAX_LEAVES, max_depth=None, min_samples_leaf=20,
                 l2_regularization=0.0, use_histograms=True, max_bins=255, subsample=1.0, colsample_bytree=1.0, max_features=None,
                 categorical_features=None, early_stopping="auto", validation_fraction=0.1, n_iter_no_change=10, tol=1e-7,
                 class_weight=None, n_jobs=None, random_state=None, memory_limit=None, verbose=False):
        keep(self, locals())


class GradientBoostingRegressor(_GradientBoosting, _BoostedRegressor):
    """Gradient boosting regressor with the parameters of `sklearn.ensemble.HistGradientBoostingRegressor`.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "poisson", "quantile"}, optional
        Loss function.
    quantile : float, optional
        Quantile for loss "quantile".
    learning_rate, max_iter, ...
        As for `GradientBoostingClassifier`.

    Examples
    --------
    >>> from tutti.learn.tree import GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(max_iter=50, min_samples_leaf=1)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]).predict([[3.0]]).round(1)
    array([3.])
    """

    def __init__(self, *, loss="squared_error", quantile=0.5, learning_rate=LEARNING_RATE, max_iter=TREES, max_leaf_nodes=MAX_LEAVES, max_depth=None,
                 min_samples_leaf=20, l2_regularization=0.0, use_histograms=True, max_bins=255, subsample=1.0, colsample_bytree=1.0,
                 max_features=None, categorical_features=None, early_stopping="auto", validation_fraction=0.1,
                 n_iter_no_change=10, tol=1e-7, n_jobs=None, random_state=None, memory_limit=None, verbose=False):
        keep(self, locals())

    def _loss_name(self):
        return self.loss

    def _options(self, X):
        return dict(super()._options(X), alpha=float(self.quantile))


class _BoostingMachine:
    """Parameters of Snap ML's boosting machine."""

    def _options(self, X):
        check_at_least("num_round", self.num_round, 1)
        check_at_least("learning_rate", self.learning_rate, 0, above=True)
        check_at_least("lambda_l2", self.lambda_l2, 0)
        check_at_least("hist_nbins", self.hist_nbins, 2)
        check_at_least("n_components", self.n_components, 1)
        low, high = (self.max_depth,) * 2 if self.max_depth is not None else (self.min_max_depth, self.max_max_depth)
        if not 1 <= low <= high:
            raise ValueError(f"min_max_depth={low!r} and max_max_depth={high!r} must satisfy 1 <= min_max_depth <= max_max_depth")
        return dict(
            rounds=count_of(self.num_round),
            learning_rate=float(self.learning_rate),
            max_leaves=0,
            min_max_depth=count_of(low),
            max_depth=count_of(high),
            min_samples_leaf=1.0,
            l2=float(self.lambda_l2),
            max_step=float(self.max_delta_step),
            class_curvature=2.0,  # the Newton steps of XGBoost
            subsample=float(self.subsample),
            columns_per_tree=float(self.colsample_bytree),
            base_score=None if self.base_score is None else float(self.base_score),
            tree_probability=float(self.tree_select_probability),
            fourier_components=int(self.n_components),
            fourier_gamma=float(self.gamma),
            fourier_l2=float(self.regularizer),
            fourier_constant=bool(self.fit_intercept),
            max_bins=min(255, int(self.hist_nbins)),
            categorical=self._categorical(),
            seed=self._seed(),
            memory_limit=byte_count(self.memory_limit),
            exact_splits=not self.use_histograms,
        )

    def _split(self, X, y, weights, validation, options, stratify):
        if validation[0] is not None and self.early_stopping_rounds:
            options["early_stopping_rounds"] = int(self.early_stopping_rounds)
        return (X, y, weights), validation


class BoostingMachineClassifier(_BoostingMachine, _BoostedClassifier):
    """Gradient boosting classifier with the parameters of Snap ML.

    The maximum depth of every tree is drawn from [min_max_depth, max_max_depth]. With tree_select_probability below 1
    the other rounds fit ridge regression on random Fourier features of an RBF kernel; columns are standardised for it.

    Parameters
    ----------
    num_round : int, optional
        Number of boosting rounds.
    learning_rate : float, optional
        Shrinkage of each round.
    max_depth : int, optional
        Fixed maximum depth; overrides the range below.
    min_max_depth, max_max_depth : int, optional
        Range of the maximum depth.
    early_stopping_rounds : int, optional
        Rounds without improvement on the validation set before stopping.
    base_score : float, optional
        Initial score.
    class_weight : dict or "balanced", optional
        Class weights.
    subsample, colsample_bytree : float, optional
        Fraction of rows and columns sampled per tree.
    lambda_l2 : float, optional
        L2 penalty on leaf values.
    max_delta_step : float, optional
        Maximum absolute leaf value before shrinkage; 0 means 8 for classification, and no limit for regression.
    tree_select_probability : float, optional
        Probability that a round adds a tree.
    regularizer, fit_intercept : float, bool, optional
        L2 penalty and intercept of the ridge regression.
    gamma, n_components : float, int, optional
        Width of the RBF kernel, and number of random Fourier features.
    use_histograms, hist_nbins : bool, int, optional
        As `use_histograms` and `max_bins` of `GradientBoostingClassifier`.
    num_threads : int, optional
        Alias of `n_jobs`.
    use_gpu, gpu_id : optional
        Accepted for compatibility: `use_gpu=True` warns and trains on CPUs.
    categorical_features, random_state, n_jobs, memory_limit, verbose
        As for `GradientBoostingClassifier`.

    Notes
    -----
    For more than two classes the Newton steps are those of XGBoost: half of `GradientBoostingClassifier`'s at the same
    learning rate.
    """

    def __init__(self, *, num_round=TREES, learning_rate=LEARNING_RATE, max_depth=None, min_max_depth=1, max_max_depth=5,
                 early_stopping_rounds=10, base_score=None, class_weight=None, subsample=1.0, colsample_bytree=1.0,
                 lambda_l2=0.0, max_delta_step=0.0, tree_select_probability=1.0, regularizer=1.0, fit_intercept=False, gamma=1.0,
                 n_components=10, use_histograms=True, hist_nbins=256, categorical_features=None, random_state=0, n_jobs=None, num_threads=None,
                 use_gpu=False, gpu_id=0, memory_limit=None, verbose=False):
        keep(self, locals())


class BoostingMachineRegressor(_BoostingMachine, _BoostedRegressor):
    """Gradient boosting regressor with the parameters of Snap ML.

    Parameters
    ----------
    objective : {"mse", "absolute_error", "poisson", "quantile"}, optional
        Loss function.
    alpha : float, optional
        Quantile for objective "quantile".
    num_round, learning_rate, ...
        As for `BoostingMachineClassifier`.
    """

    def __init__(self, *, objective="mse", num_round=TREES, learning_rate=LEARNING_RATE, max_depth=None, min_max_depth=1, max_max_depth=5,
                 early_stopping_rounds=10, base_score=None, alpha=0.5, subsample=1.0, colsample_bytree=1.0, lambda_l2=0.0,
                 max_delta_step=0.0, tree_select_probability=1.0, regularizer=1.0, fit_intercept=False, gamma=1.0, n_components=10,
                 use_histograms=True, hist_nbins=256, categorical_features=None, random_state=0, n_jobs=None, num_threads=None, use_gpu=False, gpu_id=0,
                 memory_limit=None, verbose=False):
        keep(self, locals())

    def _loss_name(self):
        return self.objective

    def _options(self, X):
        return dict(super()._options(X), alpha=float(self.alpha))
