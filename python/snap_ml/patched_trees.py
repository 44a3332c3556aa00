"""Patched decision trees and forests. `tree_` and `estimators_` are scikit-learn's, for programs that read them."""

import warnings

import numpy as np
import sklearn.ensemble
import sklearn.tree
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.ensemble._forest import _get_n_samples_bootstrap
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from snap_ml.patched_base import Patched, refuse, threads_of
from tutti import _tree
from tutti.learn import tree
from tutti.learn.tree_base import columns_per_node
from tutti.learn.tree_nodes import as_known_tree, leaf_variances, out_of_bag

# Up to this number of rows exact splits take no longer than binning, and the tree is the one that scikit-learn grows.
EXACT_ROWS = 10_000

_ROWS = dict(dtype=np.float32, accept_sparse="csc")  # the validation of scikit-learn's trees
_LABELS = dict(ensure_2d=False, dtype=None)


def _warn_of_auto(replacement):
    warnings.warn("`max_features='auto'` has been deprecated in 1.1 and will be removed in 1.3. To keep the past behaviour, explicitly set "
                  f"`max_features={replacement}", FutureWarning, stacklevel=5)


class _PatchedTrees(Patched):
    """Base class of the patched trees and forests."""

    def _options(self, **more):
        """Return the parameters that exist in both libraries."""
        ours = self._ours().get_params()
        own = {name: value for name, value in self.get_params(deep=False).items() if name in ours}
        return dict(own, n_jobs=threads_of(getattr(self, "n_jobs", None)), **more)

    def _grow(self, X, y, sample_weight, **more):
        """Return (model of tutti.learn, X, y), and set the attributes common to all trees."""
        criteria = ("gini", "entropy", "log_loss") if is_classifier(self) else ("squared_error",)
        refuse(criterion=self.criterion not in criteria, monotonic_cst=getattr(self, "monotonic_cst", None) is not None)
        rows, y = self._validate_data(X, y, validate_separately=(_ROWS, _LABELS))
        refuse(**{"several targets": y.ndim > 1 and y.shape[1] > 1, "inconsistent numbers of labels and rows": len(y) != rows.shape[0]})
        y = y.reshape(-1)
        model = self._ours(**self._options(use_histograms=rows.shape[0] > self._exact_rows, **more)).fit(rows, y, sample_weight)
        if is_classifier(self):
            refuse(**{"one class": model.n_classes_ < 2})
            self._take(X, model, "classes_", "n_classes_")
        else:
            self._take(X, model)
        self.n_outputs_ = 1
        return model, rows, y

    def _leaf_variances(self, model, rows, y, sample_weight):
        rows = rows.tocsr() if hasattr(rows, "tocsr") else rows
        return leaf_variances(model.model_, rows, y.astype(np.float64), model._weights(sample_weight, rows), model._draws, model._threads())

    def _columns(self):
        default = "sqrt" if is_classifier(self) else None
        return columns_per_node(self.max_features, self.n_features_in_, default) or self.n_features_in_


class _PatchedTree(_PatchedTrees):
    """Base class of the patched decision trees."""

    _exact_rows = EXACT_ROWS

    def _fit_ours(self, X, y, sample_weight):
        refuse(splitter=not isinstance(self.splitter, str))
        if self.max_features == "auto":
            _warn_of_auto("'sqrt'`." if is_classifier(self) else "1.0'`.")
        model, rows, y = self._grow(X, y, sample_weight)
        self.max_features_ = self._columns()
        if is_classifier(self):
            self.tree_ = as_known_tree(model.model_, 0, self.n_classes_, self.criterion)
        else:
            self.tree_ = as_known_tree(model.model_, 0, 0, self.criterion, self._leaf_variances(model, rows, y, sample_weight)[0])
        self._prune_tree()


class DecisionTreeClassifier(_PatchedTree, sklearn.tree.DecisionTreeClassifier):
    __doc__ = sklearn.tree.DecisionTreeClassifier.__doc__
    _ours = tree.DecisionTreeClassifier


class DecisionTreeRegressor(_PatchedTree, sklearn.tree.DecisionTreeRegressor):
    __doc__ = sklearn.tree.DecisionTreeRegressor.__doc__
    _ours = tree.DecisionTreeRegressor


class _PatchedForest(_PatchedTrees):
    """Base class of the patched forests. `estimators_` are built on demand; prediction uses the native layout of all
    trees.
    """

    _exact_rows = 0

    def _fit_ours(self, X, y, sample_weight):
        kind = getattr(self, "class_weight", None)
        refuse(ccp_alpha=self.ccp_alpha > 0, oob_score=callable(self.oob_score) or self.oob_score and not self.bootstrap, warm_start=self.warm_start, class_weight=kind == "balanced_subsample" or isinstance(kind, list))
        if self.max_features == "auto":
            kind, same = ("Classifier", "'sqrt'") if is_classifier(self) else ("Regressor", "1.0")
            _warn_of_auto(f"{same}` or remove this parameter as it is also the default value for RandomForest{kind}s and ExtraTrees{kind}s.")
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set `max_sample=None`.")
        if issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        random = check_random_state(self.random_state)
        self._validate_estimator()
        model, rows, y = self._grow(X, y, sample_weight, random_state=random.randint(2**31 - 1))
        self._random = random.randint(2**31 - 1)
        self._variances = None if is_classifier(self) else self._leaf_variances(model, rows, y, sample_weight)
        self.__dict__.pop("_trees", None)
        self._n_samples_bootstrap = _get_n_samples_bootstrap(rows.shape[0], self.max_samples) if self.bootstrap else None
        self._model, self._draws, self._n_samples = model.model_, model._draws, rows.shape[0]
        if self.oob_score:
            self._set_out_of_bag(rows, y)

    def _set_out_of_bag(self, X, y):
        sums, counts = out_of_bag(self._model, X.tocsr() if hasattr(X, "tocsr") else X, self._draws, threads_of(self.n_jobs))
        if (counts == 0).any():
            warnings.warn("Some inputs do not have OOB scores. This probably means too few trees were used to compute any reliable OOB "
                          "estimates.", UserWarning, stacklevel=4)
        means = sums / np.maximum(counts, 1)[:, None]
        if is_classifier(self):
            self.oob_decision_function_ = means
            self.oob_score_ = float(np.mean(self.classes_[means.argmax(axis=1)] == y))
        else:
            self.oob_prediction_ = means[:, 0]
            self.oob_score_ = r2_score(y, means[:, 0])

    def _validate_X_predict(self, X):
        """Validate rows as scikit-learn does, but without building `estimators_`."""
        if "_model" not in vars(self):
            return super()._validate_X_predict(X)
        check_is_fitted(self)
        return self._validate_data(X, dtype=np.float32, accept_sparse="csr", reset=False)

    @property
    def estimators_samples_(self):
        """Indices of the rows that each tree was fitted to, in ascending order."""
        if "_model" not in vars(self):
            return super().estimators_samples_
        rows = np.arange(self._n_samples, dtype=np.int32)
        if self._draws is None:
            return [rows] * self._model.trees
        copies = (_tree.bootstrap_copies(self._draws, i, 0, len(rows)) for i in range(self._model.trees))
        return [np.repeat(rows, np.asarray(count, dtype=np.int64)) for count in copies]

    @property
    def estimators_(self):
        if "_trees" not in vars(self):
            if "_model" not in vars(self):
                raise AttributeError("estimators_ requires a fitted model")
            random = check_random_state(self._random)
            self._trees = [self._tree_of(i, random) for i in range(self._model.trees)]
        return self._trees

    @estimators_.setter
    def estimators_(self, trees):
        self._trees = trees

    def _tree_of(self, index, random):
        """Build the scikit-learn estimator of one tree."""
        made = self._make_estimator(append=False, random_state=random)
        made.n_features_in_, made.n_outputs_, made.max_features_ = self.n_features_in_, 1, self._columns()
        classes = 0
        if is_classifier(self):
            classes = made.n_classes_ = self.n_classes_
            made.classes_ = np.arange(classes, dtype=np.float64)  # codes, as in scikit-learn's forests
        variance = None if self._variances is None else self._variances[index]
        made.tree_ = as_known_tree(self._model, index, classes, self.criterion, variance)
        return made

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_trees"} if "_model" in state else state

    def _predictions(self, X):
        check_is_fitted(self)
        return self._model.predict(self._validate_X_predict(X), threads_of(self.n_jobs))


class _PatchedForestClassifier(_PatchedForest):
    def predict_proba(self, X):
        return self._predictions(X) if "_model" in vars(self) else super().predict_proba(X)


class _PatchedForestRegressor(_PatchedForest):
    def predict(self, X):
        return self._predictions(X)[:, 0] if "_model" in vars(self) else super().predict(X)


class RandomForestClassifier(_PatchedForestClassifier, sklearn.ensemble.RandomForestClassifier):
    __doc__ = sklearn.ensemble.RandomForestClassifier.__doc__
    _ours = tree.RandomForestClassifier


class RandomForestRegressor(_PatchedForestRegressor, sklearn.ensemble.RandomForestRegressor):
    __doc__ = sklearn.ensemble.RandomForestRegressor.__doc__
    _ours = tree.RandomForestRegressor


class ExtraTreesClassifier(_PatchedForestClassifier, sklearn.ensemble.ExtraTreesClassifier):
    __doc__ = sklearn.ensemble.ExtraTreesClassifier.__doc__
    _ours = tree.ExtraTreesClassifier


class ExtraTreesRegressor(_PatchedForestRegressor, sklearn.ensemble.ExtraTreesRegressor):
    __doc__ = sklearn.ensemble.ExtraTreesRegressor.__doc__
    _ours = tree.ExtraTreesRegressor
