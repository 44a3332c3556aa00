"""What the patched estimators share: each is scikit-learn's own class with another `fit`.

Names, defaults, checks, `get_params`, `clone` and searches are scikit-learn's, because the class is. What ours cannot do is found out in
`fit`, where both options and data are known, and told by NotOurs; then scikit-learn's own fit does it, so a program that ran before the
patch runs after it. Any other exception goes up: it is what scikit-learn's checks say, or a fault of ours that must be seen.
"""

import logging

import numpy as np
from joblib import effective_n_jobs

log = logging.getLogger("snap_ml")
_told = set()
NOT_FINITE = "DDL-9-01"  # begins what our linear fits say of NaN and infinity, which they find while they read


class NotOurs(Exception):
    """What is asked for is scikit-learn's alone."""


def refuse(**wanted):
    """NotOurs when one of these is true; their names say what is asked for."""
    for name, is_wanted in wanted.items():
        if is_wanted:
            raise NotOurs(name)


def _refuse_weights(weights):
    """Those that ours have no meaning for. What is no array of numbers is left to the checks of the fit."""
    weights = np.asarray(weights)  # None is an object
    if weights.ndim > 0 and weights.dtype.kind in "fiub":
        refuse(**{"weights below 0": (weights < 0).any(), "weights that are all 0": not weights.any()})


def threads_of(n_jobs):
    """None means all processors; within a search that has these already, one."""
    return effective_n_jobs(-1 if n_jobs is None else n_jobs)


def _tell(name, reason):
    """One line for each reason, not for each of a search's many fits."""
    text = f"{name}: scikit-learn's own fit is used, for {reason}"
    if text not in _told:
        _told.add(text)
        log.warning(text)


class Patched:
    """`engine_` tells who made the model: "tutti" or "sklearn"."""

    def fit(self, X, y, sample_weight=None, **options):
        self.__dict__.pop("_model", None)
        try:
            refuse(**options, **{"no labels": y is None})
            self._validate_params()
            _refuse_weights(sample_weight)
            self._fit_ours(X, y, sample_weight)
            self.engine_ = "tutti"
            return self
        except NotOurs as error:
            reason = error
        except ValueError as error:
            if not str(error).startswith(NOT_FINITE):
                raise
            reason = "values that are not finite"
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        super().fit(X, y, **weights, **options)
        self.engine_ = "sklearn"
        _tell(type(self).__name__, reason)
        return self

    def _take(self, X, model, *names):
        """Attributes of a fit of ours."""
        if getattr(model, "is_interrupted_", False):
            raise KeyboardInterrupt  # what scikit-learn's fits do
        self._check_feature_names(X, reset=True)
        for name in ("n_features_in_", *names):
            setattr(self, name, getattr(model, name))
