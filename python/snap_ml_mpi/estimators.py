"""The estimators of snap_ml, fitted over the rows of all ranks."""

import numpy as np

import snap_ml
from snap_ml_mpi.Loaders import DistributedData
from snap_ml_mpi.ranks import ranks


class _Distributed:
    """Takes the data of a loader, or X and y of this rank."""

    @property
    def _ranks(self):
        me = ranks()
        return me if me.size > 1 else None

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "_ranks"}

    def _classes_of(self, y):
        """Over all ranks; classes must be whole numbers here."""
        own = np.unique(y)
        if self._ranks is None:
            return own
        if not np.issubdtype(own.dtype, np.number) or np.abs(own).max(initial=0) > 1000 or (own != np.round(own)).any():
            raise ValueError("over ranks classes are whole numbers from -1000 to 1000")
        seen = np.zeros(2001)
        seen[own.astype(int) + 1000] = 1
        return (np.nonzero(self._ranks.sum(seen))[0] - 1000).astype(own.dtype)

    def fit(self, X, y=None, sample_weight=None):
        if isinstance(X, DistributedData):
            X, y = X.X, X.y
        return super().fit(X, y, sample_weight)

    def _linear(self, X):
        return super()._linear(X.X if isinstance(X, DistributedData) else X)


class LogisticRegression(_Distributed, snap_ml.LogisticRegression):
    pass


class SupportVectorMachine(_Distributed, snap_ml.SupportVectorMachine):
    pass


class LinearRegression(_Distributed, snap_ml.LinearRegression):
    pass
