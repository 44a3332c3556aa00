"""Trees grown on the rows of all ranks, bitwise identical to those of one process with all rows in rank order."""

import math

import numpy as np
from sklearn.utils import compute_class_weight

from snap_ml_mpi.Loaders import DistributedData
from snap_ml_mpi.ranks import classes_of, from_first, gather, ranks, with_empty_ranks
from tutti.learn import tree


class _Distributed:
    """Mixin that accepts the data of a loader, or X and y of this rank. Rank 0 draws the seed."""

    def _is_distributed(self):
        return ranks().size > 1

    def _seed(self):
        return int(from_first(super()._seed()))

    def _validate_data(self, *arrays, **options):
        return super()._validate_data(*arrays, **with_empty_ranks(options, self._is_distributed()))

    def _all_rows(self, rows):
        return int(ranks().sum(np.array([rows], dtype=np.float64))[0])

    def _all_weight(self, weights):
        """Return the exactly rounded total weight. Each rank contributes an exact sum as a few floating-point numbers.
        """
        parts = []
        for _ in range(4):
            parts.append(math.fsum([*weights, *(-part for part in parts)]))
        return math.fsum(gather(parts))

    def fit(self, X, y=None, sample_weight=None, **options):
        """Fit the model. Collective: all ranks must call it. Parameters as for the estimators of `tutti.learn.tree`."""
        if isinstance(X, DistributedData):
            X, y = X.X, X.y
        return super().fit(X, y, sample_weight, **options)

    def _check_x(self, X, reset):
        return super()._check_x(X.X if isinstance(X, DistributedData) else X, reset)


class _DistributedClassifier(_Distributed):
    """Mixin of the distributed classifiers."""

    def _encode(self, y):
        if not self._is_distributed():
            return super()._encode(y)
        classes = classes_of(y)
        return classes, np.searchsorted(classes, y).astype(np.float64)

    def _class_weights(self, y):
        if not self._is_distributed():
            return super()._class_weights(y)
        codes = np.searchsorted(self.classes_, y)
        if self.class_weight == "balanced":
            counts = ranks().sum(np.bincount(codes, minlength=len(self.classes_)).astype(np.float64))
            return (counts.sum() / (len(counts) * counts))[codes]
        return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)[codes]


class DecisionTreeClassifier(_DistributedClassifier, tree.DecisionTreeClassifier):
    """Distributed `tutti.learn.tree.DecisionTreeClassifier`."""


class DecisionTreeRegressor(_Distributed, tree.DecisionTreeRegressor):
    """Distributed `tutti.learn.tree.DecisionTreeRegressor`."""


class RandomForestClassifier(_DistributedClassifier, tree.RandomForestClassifier):
    """Distributed `tutti.learn.tree.RandomForestClassifier`."""


class RandomForestRegressor(_Distributed, tree.RandomForestRegressor):
    """Distributed `tutti.learn.tree.RandomForestRegressor`."""


class ExtraTreesClassifier(_DistributedClassifier, tree.ExtraTreesClassifier):
    """Distributed `tutti.learn.tree.ExtraTreesClassifier`."""


class ExtraTreesRegressor(_Distributed, tree.ExtraTreesRegressor):
    """Distributed `tutti.learn.tree.ExtraTreesRegressor`."""


class BoostingMachineClassifier(_DistributedClassifier, tree.BoostingMachineClassifier):
    """Distributed `tutti.learn.tree.BoostingMachineClassifier`."""


class BoostingMachineRegressor(_Distributed, tree.BoostingMachineRegressor):
    """Distributed `tutti.learn.tree.BoostingMachineRegressor`."""
