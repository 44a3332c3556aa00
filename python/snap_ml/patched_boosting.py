"""Patched histogram boosting.

Trees are converted to scikit-learn's predictors, so staged prediction and partial dependence work.
"""

import numpy as np
import sklearn.ensemble
from sklearn.base import is_classifier
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length, check_is_fitted

from snap_ml.patched_base import Patched, refuse, threads_of
from tutti import _tree
from tutti.learn import tree
from tutti.learn.tree_nodes import levels_of

EARLY_STOPPING_ROWS = 10_000  # early_stopping="auto" means True above this number of rows
SCORED_ROWS = 10_000          # rows of the training set used for train_score_


def _bits(codes):
    """Return a set of codes up to 255 as a bitset of eight 32-bit words."""
    words = np.zeros(8, dtype=np.uint32)
    for code in codes:
        words[int(code) // 32] |= np.uint32(1 << (int(code) % 32))
    return words


class KnownCategories:
    """The part of scikit-learn's bin mapper that predictors use."""

    def __init__(self, columns, categories):
        categorical = [i for i in range(columns) if categories is not None and categories[i] is not None]
        self._bitsets = np.array([_bits(categories[i]) for i in categorical], dtype=np.uint32).reshape(-1, 8)
        self._map = np.zeros(columns, dtype=np.uint32)
        self._map[categorical] = np.arange(len(categorical))

    def make_known_categories_bitsets(self):
        return self._bitsets, self._map


def predictor_of(nodes, categories):
    """Convert a tree to scikit-learn's predictor. Codes unseen at a node follow its missing values."""
    table = np.zeros(len(nodes["left"]), dtype=PREDICTOR_RECORD_DTYPE)
    is_leaf, is_set = nodes["left"] < 0, nodes["categories"] >= 0
    table["value"], table["count"], table["gain"] = nodes["values"][:, 0], nodes["count"], nodes["gain"]
    for name, of in (("feature_idx", "column"), ("left", "left"), ("right", "right")):
        table[name] = np.where(is_leaf, 0, nodes[of])
    table["num_threshold"], table["missing_go_to_left"] = nodes["threshold"], nodes["missing_left"]
    table["is_leaf"], table["is_categorical"] = is_leaf, is_set
    for depth, level in enumerate(levels_of(nodes)):
        table["depth"][level] = depth
    bitsets = []
    for node in np.flatnonzero(is_set):
        left, known = map(set, nodes["category_sets"][nodes["categories"][node]])
        unseen = set(map(int, categories[nodes["column"][node]])) - known if nodes["missing_left"][node] else set()
        table["bitset_idx"][node] = len(bitsets)
        bitsets.append(_bits(left | unseen))
    bitsets = np.array(bitsets, dtype=np.uint32).reshape(-1, 8)
    return TreePredictor(table, np.zeros_like(bitsets), bitsets)


class _PatchedBoosting(Patched):
    """Base class of the patched boosting estimators."""

    def _fit_ours(self, X, y, sample_weight):
        self._refuse_options()
        rows, y, categories = self._checked(X, y)
        y = self._encode_y(y)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows, dtype=np.float64)
        self._fitted_with_sw = weights is not None
        weights = self._finalize_sample_weight(weights, y)
        random = check_random_state(self.random_state)
        self._random_seed, seed = (random.randint(np.iinfo(np.uint32).max, dtype="u8") for _ in range(2))
        self._feature_subsample_rng = np.random.default_rng(seed)
        self._n_features = rows.shape[1]
        refuse(**{"infinite values": _tree.has_infinite(rows, threads_of(None)),
                  "negative categories": categories is not None and any(c is not None and (c < 0).any() for c in categories)})
        self._loss = self._get_loss(sample_weight=weights)
        self.do_early_stopping_ = rows.shape[0] > EARLY_STOPPING_ROWS if self.early_stopping == "auto" else self.early_stopping
        self._scorer, self._use_validation_data = None, self.validation_fraction is not None
        train, validation = self._parts(rows, y, weights)
        self._keep_model(X, self._boost(train, validation), categories)
        self._keep_scores(train, validation)

    def _checked(self, X, y):
        """Return rows, targets and the categories of each column; None without categorical columns."""
        if not hasattr(self, "_preprocess_X"):  # before scikit-learn 1.4
            rows, y = self._validate_data(X, y, dtype=[np.float64], force_all_finite=False)
            self.is_categorical_, categories = self._check_categories(rows)
            return rows, y, categories
        rows, categories = self._preprocess_X(X, reset=True)
        refuse(**{"categories that scikit-learn encodes": categories is not None})
        y = _check_y(y, estimator=self)
        check_consistent_length(rows, y)
        return rows, y, None

    def _refuse_options(self):
        stops = self.early_stopping is not False
        refuse(warm_start=self.warm_start, monotonic_cst=self.monotonic_cst is not None, interaction_cst=getattr(self, "interaction_cst", None)
               is not None, max_features=getattr(self, "max_features", 1) != 1, scoring=stops and self.scoring != "loss", loss=not isinstance(self.loss, str) or self.loss == "gamma")

    def _parts(self, X, y, weights):
        """Return the training and validation sets, split as in scikit-learn."""
        if not self.do_early_stopping_:
            return (X, y, weights), None
        if not self._use_validation_data:
            return (X, y, weights), (X, y, weights)
        parts = train_test_split(X, y, *([] if weights is None else [weights]), test_size=self.validation_fraction,
                                 stratify=y if is_classifier(self) else None, random_state=self._random_seed)
        return ((*parts[0::2], None), (*parts[1::2], None)) if weights is None else (parts[0::2], parts[1::2])

    def _boost(self, train, validation):
        names = ("learning_rate", "max_iter", "max_leaf_nodes", "max_depth", "min_samples_leaf", "l2_regularization", "max_bins")
        seed = int(self._random_seed % (2**31 - 1))
        model = self._ours(**{name: getattr(self, name) for name in names}, random_state=seed, early_stopping=False,
                           categorical_features=self.is_categorical_, n_jobs=threads_of(None), verbose=bool(self.verbose), **self._of_loss())
        aside = {} if validation is None else dict(zip(("X_val", "y_val", "sample_weight_val"), validation))
        if validation is not None:
            model._progress = self._stopping
        model.fit(*train, **aside)
        refuse(**{"classes that only a few rows have": is_classifier(self) and model.n_classes_ != len(self.classes_)})
        return model

    def _of_loss(self):
        return {}

    def _stopping(self):
        """Return a progress callback that applies scikit-learn's stopping rule after each round."""
        scores = [-np.inf]

        def should_continue(_, loss):
            scores.append(-loss)
            return not self._should_stop(scores)

        return should_continue

    def _keep_model(self, X, model, categories):
        self._take(X, model)
        trees, together = model.model_, self.n_trees_per_iteration_
        made = [predictor_of(trees.nodes(i), categories) for i in range(trees.trees)]
        self._baseline_prediction = np.array(trees.base, dtype=np.float64).reshape(1, -1)
        self._predictors = [made[i : i + together] for i in range(0, len(made), together)]
        self._bin_mapper = KnownCategories(self._n_features, categories)
        self._model = trees

    def _keep_scores(self, train, validation):
        self.train_score_ = self.validation_score_ = np.empty(0)
        if validation is None:
            return
        few = check_random_state(int(self._random_seed % 2**32)).permutation(len(train[1]))[:SCORED_ROWS]
        self.train_score_ = self._scores(*(part if part is None else part[few] for part in train))
        if self._use_validation_data:
            self.validation_score_ = self._scores(*validation)

    def _scores(self, X, y, weights):
        """Return the negative loss before the first tree and after each round."""
        raw = np.repeat(self._baseline_prediction, len(y), axis=0)
        stages = [raw, *super()._staged_raw_predict(X)]
        return np.array([-self._loss(y_true=y, raw_prediction=np.asfortranarray(stage).squeeze(), sample_weight=weights) for stage in stages])

    def _raw_predict(self, X, n_threads=None):
        if "_model" not in vars(self) or getattr(self, "_in_fit", False):
            return super()._raw_predict(X, n_threads)
        check_is_fitted(self)
        X = self._validate_data(X, dtype=np.float64, force_all_finite=False, reset=False)
        return self._model.predict(X, threads_of(n_threads), False)


class HistGradientBoostingClassifier(_PatchedBoosting, sklearn.ensemble.HistGradientBoostingClassifier):
    __doc__ = sklearn.ensemble.HistGradientBoostingClassifier.__doc__
    _ours = tree.GradientBoostingClassifier


class HistGradientBoostingRegressor(_PatchedBoosting, sklearn.ensemble.HistGradientBoostingRegressor):
    __doc__ = sklearn.ensemble.HistGradientBoostingRegressor.__doc__
    _ours = tree.GradientBoostingRegressor

    def _of_loss(self):
        return dict(loss=self.loss, **({} if self.quantile is None else {"quantile": self.quantile}))
