"""Trees grown over the rows of all ranks: to the bit those of one process with all rows in rank order."""

import numpy as np

from snap_ml_mpi.Loaders import DistributedData
from snap_ml_mpi.ranks import ranks
from tutti.learn import tree


class _Distributed:
    """Takes the data of a loader, or X and y of this rank. Every rank needs the same random_state."""

    def _is_distributed(self):
        return ranks().size > 1

    def fit(self, X, y=None, sample_weight=None, **options):
        if isinstance(X, DistributedData):
            X, y = X.X, X.y
        return super().fit(X, y, sample_weight, **options)

    def _check_x(self, X, reset):
        return super()._check_x(X.X if isinstance(X, DistributedData) else X, reset)


class _DistributedClassifier(_Distributed):
    def _check_classes(self, X, y, sample_weight):
        codes, weights = super()._check_classes(X, y, sample_weight)
        if not self._is_distributed():
            return codes, weights
        own = self.classes_
        if not np.issubdtype(own.dtype, np.number) or np.abs(own).max(initial=0) > 1000 or (own != np.round(own)).any():
            raise ValueError("over ranks classes are whole numbers from -1000 to 1000")
        seen = np.zeros(2001)
        seen[own.astype(int) + 1000] = 1
        self.classes_ = (np.nonzero(ranks().sum(seen))[0] - 1000).astype(own.dtype)
        self.n_classes_ = len(self.classes_)
        return np.searchsorted(self.classes_, y).astype(np.float64), weights


class DecisionTreeClassifier(_DistributedClassifier, tree.DecisionTreeClassifier):
    pass


class DecisionTreeRegressor(_Distributed, tree.DecisionTreeRegressor):
    pass


class RandomForestClassifier(_DistributedClassifier, tree.RandomForestClassifier):
    pass


class RandomForestRegressor(_Distributed, tree.RandomForestRegressor):
    pass


class BoostingMachineClassifier(_DistributedClassifier, tree.BoostingMachineClassifier):
    pass


class BoostingMachineRegressor(_Distributed, tree.BoostingMachineRegressor):
    pass
