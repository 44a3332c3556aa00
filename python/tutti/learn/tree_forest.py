"""Decision trees, random forests and extra trees with scikit-learn's API.

Columns are quantised once into at most 255 bins, and splits are searched between bins; `use_histograms=False` searches
between any two values, which is slower. Sums are accumulated as integers, so results do not depend on the number of
threads.
"""

import sys
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from tutti import _tree
from tutti.learn.defaults import TREES
from tutti.learn.matrices import byte_count
from tutti.learn.tree_base import (TreeClassifier, TreeRegressor, check_at_least, columns_per_node, count_of, keep, share_or_count)
from tutti.learn.tree_nodes import as_known_tree, paths


class _Grown:
    """Base class of trees and forests. Subclasses define the number of trees and the sampling of rows and columns."""

    _default_max_features = None
    _random_thresholds = False

    def _max_bins(self):
        check_at_least("hist_nbins", self.hist_nbins, 2)
        return min(255, int(self.hist_nbins))

    def _options(self, X, weights, classes):
        rows, columns = X.shape
        check_at_least("min_impurity_decrease", self.min_impurity_decrease, 0)
        if not 0 <= self.min_weight_fraction_leaf <= 0.5:
            raise ValueError(f"min_weight_fraction_leaf={self.min_weight_fraction_leaf!r} must be between 0 and 0.5")
        for name in ("max_depth", "max_leaf_nodes"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1 if name == "max_depth" else 2)
        rows = self._all_rows(rows)
        total = float(rows)
        if len(weights) and (self.min_weight_fraction_leaf > 0 or self.min_impurity_decrease > 0):
            total = self._all_weight(weights)
        # Gains are in units of variance; the Gini index of two classes is twice the variance of their indicator.
        factor = 2 if classes == 2 else 1
        options = dict(
            classes=classes,
            max_depth=count_of(self.max_depth),
            max_leaves=count_of(self.max_leaf_nodes),
            min_samples_leaf=share_or_count("min_samples_leaf", self.min_samples_leaf, rows, 1),
            min_samples_split=share_or_count("min_samples_split", self.min_samples_split, rows, 2),
            min_weight_leaf=self.min_weight_fraction_leaf * total,
            min_gain=self.min_impurity_decrease * total / factor,
            columns_per_node=columns_per_node(self.max_features, columns, self._default_max_features),
            random_thresholds=self._random_thresholds,
            max_bins=self._max_bins(),
            categorical=self._categorical(),
            seed=self._seed(),
            memory_limit=byte_count(self.memory_limit),
            exact_splits=not self.use_histograms,
        )
        options.update(self._forest_options(rows))
        return options

    def _forest_options(self, rows):
        return {}

    def _grow(self, X, y, weights, classes):
        self._warn_gpu()
        options = self._options(X, weights, classes)
        self.model_, interrupted = _tree.fit_forest(X, y, weights, options, self._threads(), self._progress(options["trees"]),
                                                    self._is_distributed())
        self._draws = {name: options[name] for name in ("seed", "samples")} if options.get("bootstrap") else None
        self.is_interrupted_ = interrupted
        if interrupted and self.model_.trees < options["trees"]:
            warnings.warn(f"the fit was interrupted; the model has {self.model_.trees} trees", stacklevel=3)
        return self

    def _progress(self, trees):
        """Return a progress callback, or None."""
        if not self.verbose:
            return None

        def show(index, _):
            print(f"tree {index + 1} of {trees}", file=sys.stderr)
            return True

        return show

    def _known_tree(self, index):
        classes = getattr(self, "n_classes_", 0)
        return as_known_tree(self.model_, index, classes, self.criterion)


class _Classifier(_Grown, TreeClassifier):
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (rows, columns)
            Features; NaN is a missing value.
        y : array-like
            Class labels.
        sample_weight : array-like, optional
            Sample weights.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._check_x_y(X, y)
        codes, weights = self._check_classes(X, y, sample_weight)
        if self.criterion not in ("gini", "entropy", "log_loss"):
            raise ValueError(f"criterion={self.criterion!r} is invalid. Valid values: 'gini', 'entropy', 'log_loss'")
        return self._grow(X, codes, weights, max(2, self.n_classes_))

    def _options(self, X, weights, classes):
        return dict(super()._options(X, weights, classes), uses_entropy=self.criterion != "gini")


class _Regressor(_Grown, TreeRegressor):
    def fit(self, X, y, sample_weight=None):
        """Fit the model. Parameters as for the classifiers, with numeric targets."""
        X, y = self._check_x_y(X, y, y_numeric=True)
        if self.criterion not in ("squared_error", "mse"):
            raise ValueError(f"criterion={self.criterion!r} is invalid. Valid value: 'squared_error'")
        weights = self._weights(sample_weight, X)
        return self._grow(X, np.asarray(y, dtype=np.float64), weights, 0)


class _SingleTree(_Grown):
    def _forest_options(self, rows):
        if self.splitter not in ("best", "random"):
            raise ValueError(f"splitter={self.splitter!r} is invalid. Valid values: 'best', 'random'")
        return dict(trees=1, random_thresholds=self.splitter == "random")

    def get_depth(self):
        """Return the depth of the tree."""
        return self.model_.depths()[0]

    def get_n_leaves(self):
        """Return the number of leaves."""
        return self.model_.leaf_counts()[0]

    def apply(self, X):
        """Return the leaf index of each row."""
        return super().apply(X)[:, 0]

    def decision_path(self, X):
        """Return a sparse indicator matrix, shape (rows, nodes): 1 where the path of a row passes the node."""
        return paths(self.model_, 0, self.apply(X))

    @property
    def tree_(self):
        """The tree as scikit-learn's `Tree`, built on demand for programs that read it.

        It contains neither the direction of missing values nor categorical splits. Leaves of regression trees have
        impurity 0.
        """
        check_is_fitted(self)
        return self._known_tree(0)


class _Forest(_Grown):
    @property
    def estimators_(self):
        """List of the trees as decision tree estimators, built on demand. Their classes are the codes 0, 1, ..."""
        check_is_fitted(self)
        return [self._estimator(i) for i in range(self.model_.trees)]

    def _estimator(self, index):
        single, known = self._single, self.get_params()
        made = single(**{name: known[name] for name in single().get_params() if name in known})
        made.model_, made.n_features_in_ = self.model_.only(index), self.n_features_in_
        if hasattr(self, "classes_"):
            made.classes_, made.n_classes_ = np.arange(self.n_classes_, dtype=np.float64), self.n_classes_
        return made

    def decision_path(self, X):
        """Return the paths through all trees.

        Returns
        -------
        indicator : scipy.sparse.csr_matrix, shape (rows, nodes of all trees)
            1 where the path of a row passes the node.
        offsets : ndarray
            Index of the first node of each tree.
        """
        leaves = self.apply(X)
        parts = [paths(self.model_, i, leaves[:, i]) for i in range(self.model_.trees)]
        return sp.hstack(parts, format="csr"), np.concatenate([[0], np.cumsum([part.shape[1] for part in parts])])

    def _forest_options(self, rows):
        check_at_least("n_estimators", self.n_estimators, 1)
        samples = 1.0
        if self.max_samples is not None:
            if not self.bootstrap:
                raise ValueError("max_samples requires bootstrap=True")
            samples = share_or_count("max_samples", self.max_samples, rows, 1) / rows
            if samples > 1:
                raise ValueError(f"`max_samples` must be <= n_samples={rows} but got value {self.max_samples}")
        return dict(trees=int(self.n_estimators), bootstrap=bool(self.bootstrap), samples=samples)

    def _more_tags(self):
        tags = super()._more_tags()
        if self.bootstrap:
            tags["_xfail_checks"] = {"check_sample_weights_invariance": "each tree draws rows by index, independently of their weights"}
        return tags


class DecisionTreeClassifier(_SingleTree, _Classifier):
    """Decision tree classifier; equivalent to `sklearn.tree.DecisionTreeClassifier`.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, optional
        Impurity measure.
    splitter : {"best", "random"}, optional
        Best or random thresholds.
    max_depth, max_leaf_nodes : int, optional
        Limits of the tree; None means no limit.
    min_samples_split, min_samples_leaf : int or float, optional
        Minimum number of rows in an inner node and in a leaf, as a count or a fraction.
    min_weight_fraction_leaf : float, optional
        Minimum fraction of the total weight in a leaf.
    max_features : int, float, "sqrt", "log2" or "auto", optional
        Columns sampled per node; None means all.
    random_state : int, RandomState or None, optional
        Seed of the sampling.
    min_impurity_decrease : float, optional
        Minimum weighted impurity decrease of a split.
    class_weight : dict or "balanced", optional
        Class weights.
    use_histograms : bool, optional
        False searches exact splits between any two values; slower.
    hist_nbins : int, optional
        Maximum number of bins per column, at most 255.
    categorical_features : array-like of int or bool, optional
        Columns of category codes 0, 1, ...
    n_jobs : int, optional
        Number of threads; None means all CPUs. `n_threads` and `num_threads` are aliases.
    use_gpu, gpu_id : optional
        Accepted for compatibility: `use_gpu=True` warns and trains on CPUs.
    memory_limit : int or str, optional
        Limit on the memory of the process, in bytes or as "2GB", for out-of-core training.
    verbose : bool, optional
        Print progress.

    Examples
    --------
    >>> from tutti.learn.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    >>> model.get_n_leaves()
    2
    """

    def __init__(self, *, criterion="gini", splitter="best", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features=None, random_state=None, max_leaf_nodes=None,
                 min_impurity_decrease=0.0, class_weight=None, use_histograms=True, hist_nbins=256, categorical_features=None, n_jobs=None,
                 n_threads=None, num_threads=None, use_gpu=False, gpu_id=0, memory_limit=None, verbose=False):
        keep(self, locals())


class DecisionTreeRegressor(_SingleTree, _Regressor):
    """Decision tree regressor; equivalent to `sklearn.tree.DecisionTreeRegressor`.

    Parameters as for `DecisionTreeClassifier`, with criterion "squared_error" and without `class_weight`.
    """

    def __init__(self, *, criterion="squared_error", splitter="best", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features=None, random_state=None, max_leaf_nodes=None,
                 min_impurity_decrease=0.0, use_histograms=True, hist_nbins=256, categorical_features=None, n_jobs=None, n_threads=None,
                 num_threads=None, use_gpu=False, gpu_id=0, memory_limit=None, verbose=False):
        keep(self, locals())


class RandomForestClassifier(_Forest, _Classifier):
    """Random forest classifier; equivalent to `sklearn.ensemble.RandomForestClassifier`.

    Parameters
    ----------
    n_estimators : int, optional
        Number of trees.
    bootstrap : bool, optional
        Draw the rows of each tree with replacement.
    max_samples : int or float, optional
        Number or fraction of rows to draw per tree; requires `bootstrap`.
    gpu_ids, compress_trees : optional
        Accepted for compatibility and ignored.
    criterion, max_depth, ...
        As for `DecisionTreeClassifier`; `max_features` defaults to "sqrt".

    Examples
    --------
    >>> from tutti.learn.tree import RandomForestClassifier
    >>> model = RandomForestClassifier(20, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[0.0], [3.0]])
    array([0, 1])
    """

    _single = DecisionTreeClassifier
    _default_max_features = "sqrt"

    def __init__(self, n_estimators=TREES, *, criterion="gini", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features="sqrt", max_leaf_nodes=None, min_impurity_decrease=0.0,
                 bootstrap=True, n_jobs=None, random_state=None, class_weight=None, max_samples=None, use_histograms=True, hist_nbins=256,
                 categorical_features=None, num_threads=None, use_gpu=False, gpu_ids=None, compress_trees=False, memory_limit=None, verbose=False):
        keep(self, locals())


class RandomForestRegressor(_Forest, _Regressor):
    """Random forest regressor; equivalent to `sklearn.ensemble.RandomForestRegressor`.

    Parameters as for `RandomForestClassifier`, with criterion "squared_error" and without `class_weight`;
    `max_features` defaults to 1.0.
    """

    _single = DecisionTreeRegressor

    def __init__(self, n_estimators=TREES, *, criterion="squared_error", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features=1.0, max_leaf_nodes=None, min_impurity_decrease=0.0, bootstrap=True,
                 n_jobs=None, random_state=None, max_samples=None, use_histograms=True, hist_nbins=256, categorical_features=None,
                 num_threads=None, use_gpu=False, gpu_ids=None, compress_trees=False, memory_limit=None, verbose=False):
        keep(self, locals())


class ExtraTreesClassifier(_Forest, _Classifier):
    """Extra trees classifier; equivalent to `sklearn.ensemble.ExtraTreesClassifier`.

    Thresholds are drawn at random. Parameters as for `RandomForestClassifier`; `bootstrap` defaults to False.
    """

    _single = DecisionTreeClassifier
    _default_max_features = "sqrt"
    _random_thresholds = True

    def __init__(self, n_estimators=TREES, *, criterion="gini", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features="sqrt", max_leaf_nodes=None, min_impurity_decrease=0.0,
                 bootstrap=False, n_jobs=None, random_state=None, class_weight=None, max_samples=None, use_histograms=True, hist_nbins=256,
                 categorical_features=None, num_threads=None, memory_limit=None, verbose=False):
        keep(self, locals())


class ExtraTreesRegressor(_Forest, _Regressor):
    """Extra trees regressor; equivalent to `sklearn.ensemble.ExtraTreesRegressor`.

    Thresholds are drawn at random. Parameters as for `RandomForestRegressor`; `bootstrap` defaults to False.
    """

    _single = DecisionTreeRegressor
    _random_thresholds = True

    def __init__(self, n_estimators=TREES, *, criterion="squared_error", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features=1.0, max_leaf_nodes=None, min_impurity_decrease=0.0, bootstrap=False,
                 n_jobs=None, random_state=None, max_samples=None, use_histograms=True, hist_nbins=256, categorical_features=None,
                 num_threads=None, memory_limit=None, verbose=False):
        keep(self, locals())
