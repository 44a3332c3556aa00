"""Decision trees, random forests and extra trees with scikit-learn's interface.

Columns are cut into up to 255 bins once, and splits are sought between bins; with use_histograms=False between any two values, which
takes longer. Whole numbers are summed, so the model is the same
for any number of threads. n_jobs counts the threads of one fit; None means all processors.
"""

import sys
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from tutti import _tree
from tutti.learn.defaults import TREES
from tutti.learn.matrices import byte_count
from tutti.learn.tree_base import (TreeClassifier, TreeRegressor, check_at_least, columns_per_node, keep, share_or_count)
from tutti.learn.tree_nodes import as_known_tree, paths


class _Grown:
    """Fits trees; subclasses say how many and how they draw rows and columns."""

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
        # Gini's index of two classes is twice the variance of their indicator, which is what gains are told in.
        factor = 2 if classes == 2 else 1
        options = dict(
            classes=classes,
            max_depth=int(self.max_depth or 0),
            max_leaves=int(self.max_leaf_nodes or 0),
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
        X, y = self._check_x_y(X, y)
        codes, weights = self._check_classes(X, y, sample_weight)
        if self.criterion not in ("gini", "entropy", "log_loss"):
            raise ValueError(f"criterion={self.criterion!r} is none of 'gini', 'entropy' and 'log_loss'")
        return self._grow(X, codes, weights, max(2, self.n_classes_))

    def _options(self, X, weights, classes):
        return dict(super()._options(X, weights, classes), uses_entropy=self.criterion != "gini")


class _Regressor(_Grown, TreeRegressor):
    def fit(self, X, y, sample_weight=None):
        X, y = self._check_x_y(X, y, y_numeric=True)
        if self.criterion not in ("squared_error", "mse"):
            raise ValueError(f"criterion={self.criterion!r} is not 'squared_error'")
        weights = self._weights(sample_weight, X)
        return self._grow(X, np.asarray(y, dtype=np.float64), weights, 0)


class _SingleTree(_Grown):
    def _forest_options(self, rows):
        if self.splitter not in ("best", "random"):
            raise ValueError(f"splitter={self.splitter!r} is none of 'best' and 'random'")
        return dict(trees=1, random_thresholds=self.splitter == "random")

    def get_depth(self):
        return self.model_.depths()[0]

    def get_n_leaves(self):
        return self.model_.leaf_counts()[0]

    def apply(self, X):
        return super().apply(X)[:, 0]

    def decision_path(self, X):
        """rows x nodes: 1 where a row comes through."""
        return paths(self.model_, 0, self.apply(X))

    @property
    def tree_(self):
        """As scikit-learn's, for programs that read it. Made when it is asked for; it knows neither where missing values go nor categories, and
        of numbers it takes leaves for pure."""
        check_is_fitted(self)
        return self._known_tree(0)


class _Forest(_Grown):
    @property
    def estimators_(self):
        """A decision tree for each tree; their classes are the codes 0, 1, ... of ours. Made when they are asked for."""
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
        """(rows x nodes of all trees, where the nodes of each tree begin)."""
        leaves = self.apply(X)
        parts = [paths(self.model_, i, leaves[:, i]) for i in range(self.model_.trees)]
        return sp.hstack(parts, format="csr"), np.concatenate([[0], np.cumsum([part.shape[1] for part in parts])])

    def _forest_options(self, rows):
        check_at_least("n_estimators", self.n_estimators, 1)
        samples = 1.0
        if self.max_samples is not None:
            if not self.bootstrap:
                raise ValueError("max_samples needs bootstrap=True")
            samples = share_or_count("max_samples", self.max_samples, rows, 1) / rows
        return dict(trees=int(self.n_estimators), bootstrap=bool(self.bootstrap), samples=samples)

    def _more_tags(self):
        tags = super()._more_tags()
        if self.bootstrap:
            tags["_xfail_checks"] = {"check_sample_weights_invariance": "each tree draws rows by their places, whatever they weigh"}
        return tags


class DecisionTreeClassifier(_SingleTree, _Classifier):
    def __init__(self, *, criterion="gini", splitter="best", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features=None, random_state=None, max_leaf_nodes=None,
                 min_impurity_decrease=0.0, class_weight=None, use_histograms=True, hist_nbins=256, categorical_features=None, n_jobs=None,
                 n_threads=None, num_threads=None, use_gpu=False, gpu_id=0, memory_limit=None, verbose=False):
        keep(self, locals())


class DecisionTreeRegressor(_SingleTree, _Regressor):
    def __init__(self, *, criterion="squared_error", splitter="best", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features=None, random_state=None, max_leaf_nodes=None,
                 min_impurity_decrease=0.0, use_histograms=True, hist_nbins=256, categorical_features=None, n_jobs=None, n_threads=None,
                 num_threads=None, use_gpu=False, gpu_id=0, memory_limit=None, verbose=False):
        keep(self, locals())


class RandomForestClassifier(_Forest, _Classifier):
    _single = DecisionTreeClassifier
    _default_max_features = "sqrt"

    def __init__(self, n_estimators=TREES, *, criterion="gini", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features="sqrt", max_leaf_nodes=None, min_impurity_decrease=0.0,
                 bootstrap=True, n_jobs=None, random_state=None, class_weight=None, max_samples=None, use_histograms=True, hist_nbins=256,
                 categorical_features=None, num_threads=None, use_gpu=False, gpu_ids=None, compress_trees=False, memory_limit=None, verbose=False):
        keep(self, locals())


class RandomForestRegressor(_Forest, _Regressor):
    _single = DecisionTreeRegressor

    def __init__(self, n_estimators=TREES, *, criterion="squared_error", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features=1.0, max_leaf_nodes=None, min_impurity_decrease=0.0, bootstrap=True,
                 n_jobs=None, random_state=None, max_samples=None, use_histograms=True, hist_nbins=256, categorical_features=None,
                 num_threads=None, use_gpu=False, gpu_ids=None, compress_trees=False, memory_limit=None, verbose=False):
        keep(self, locals())


class ExtraTreesClassifier(_Forest, _Classifier):
    _single = DecisionTreeClassifier
    _default_max_features = "sqrt"
    _random_thresholds = True

    def __init__(self, n_estimators=TREES, *, criterion="gini", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features="sqrt", max_leaf_nodes=None, min_impurity_decrease=0.0,
                 bootstrap=False, n_jobs=None, random_state=None, class_weight=None, max_samples=None, use_histograms=True, hist_nbins=256,
                 categorical_features=None, num_threads=None, memory_limit=None, verbose=False):
        keep(self, locals())


class ExtraTreesRegressor(_Forest, _Regressor):
    _single = DecisionTreeRegressor
    _random_thresholds = True

    def __init__(self, n_estimators=TREES, *, criterion="squared_error", max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 min_weight_fraction_leaf=0.0, max_features=1.0, max_leaf_nodes=None, min_impurity_decrease=0.0, bootstrap=False,
                 n_jobs=None, random_state=None, max_samples=None, use_histograms=True, hist_nbins=256, categorical_features=None,
                 num_threads=None, memory_limit=None, verbose=False):
        keep(self, locals())
