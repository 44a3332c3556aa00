"""The linear estimators of snap_ml, fitted on the rows of all ranks."""

import snap_ml
from snap_ml_mpi.Loaders import DistributedData
from snap_ml_mpi.ranks import classes_of, from_first, ranks, with_empty_ranks


class _Distributed:
    """Mixin that accepts the data of a loader, or X and y of this rank."""

    @property
    def _ranks(self):
        me = ranks()
        return me if me.size > 1 else None

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "_ranks"}

    def _seed(self):
        return int(from_first(super()._seed()))

    def _validate_data(self, *arrays, **options):
        return super()._validate_data(*arrays, **with_empty_ranks(options, self._ranks is not None))

    def _classes_of(self, y):
        return classes_of(y, super()._classes_of)

    def fit(self, X, y=None, sample_weight=None):
        """Fit the model. Collective: all ranks must call it.

        Parameters
        ----------
        X : DistributedData, array-like or sparse matrix
            Data of a loader, or the features of this rank's rows.
        y, sample_weight : array-like, optional
            Labels and sample weights of this rank's rows.

        Returns
        -------
        self : object
            The fitted estimator, identical on all ranks.
        """
        if isinstance(X, DistributedData):
            X, y = X.X, X.y
        return super().fit(X, y, sample_weight)

    def _linear(self, X):
        return super()._linear(X.X if isinstance(X, DistributedData) else X)


class LogisticRegression(_Distributed, snap_ml.LogisticRegression):
    """Distributed `snap_ml.LogisticRegression`."""


class SupportVectorMachine(_Distributed, snap_ml.SupportVectorMachine):
    """Distributed `snap_ml.SupportVectorMachine`."""


class LinearRegression(_Distributed, snap_ml.LinearRegression):
    """Distributed `snap_ml.LinearRegression`."""
