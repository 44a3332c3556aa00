"""Trees grown over the rows of all ranks: to the bit those of one process with all rows in rank order."""

import math

import numpy as np
from sklearn.utils import compute_class_weight

from snap_ml_mpi.Loaders import DistributedData
from snap_ml_mpi.ranks import classes_of, from_first, gather, ranks
from tutti.learn import tree


class _Distributed:
    """Takes the data of a loader, or X and y of this rank. What is drawn at random is drawn by rank 0."""

    def _is_distributed(self):
        return ranks().size > 1

    def _seed(self):
        return int(from_first(super()._seed()))

    def _all_rows(self, rows):
        return int(ranks().sum(np.array([rows], dtype=np.float64))[0])

    def _all_weight(self, weights):
        """Each rank's sum as a few numbers without an error, so that the whole is rounded once, as in one process."""
        parts = []
        for _ in range(4):
            parts.append(math.fsum([*weights, *(-part for part in parts)]))
        return math.fsum(gather(parts))

    def fit(self, X, y=None, sample_weight=None, **options):
        if isinstance(X, DistributedData):
            X, y = X.X, X.y
        return super().fit(X, y, sample_weight, **options)

    def _check_x(self, X, reset):
        return super()._check_x(X.X if isinstance(X, DistributedData) else X, reset)


class _DistributedClassifier(_Distributed):
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
    pass


class DecisionTreeRegressor(_Distributed, tree.DecisionTreeRegressor):
    pass


class RandomForestClassifier(_DistributedClassifier, tree.RandomForestClassifier):
    pass


class RandomForestRegressor(_Distributed, tree.RandomForestRegressor):
    pass


class ExtraTreesClassifier(_DistributedClassifier, tree.ExtraTreesClassifier):
    pass


class ExtraTreesRegressor(_Distributed, tree.ExtraTreesRegressor):
    pass


class BoostingMachineClassifier(_DistributedClassifier, tree.BoostingMachineClassifier):
    pass


class BoostingMachineRegressor(_Distributed, tree.BoostingMachineRegressor):
    pass
