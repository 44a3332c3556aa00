"""Base class of the patched estimators: subclasses of scikit-learn's that replace `fit`.

Names, defaults, validation, `get_params`, `clone` and searches are inherited from scikit-learn. `fit` determines from
parameters and data whether tutti.learn supports the request; if not, it raises NotSupported internally and runs
scikit-learn's `fit`, so a program that ran before the patch also runs after it. All other exceptions are propagated.
"""

import logging

import numpy as np
from joblib import effective_n_jobs

log = logging.getLogger("snap_ml")
_logged = set()
NOT_FINITE = ("DDL-9-01", "Input X contains NaN")  # messages of tutti.learn and scikit-learn; newer trees accept NaN


class NotSupported(Exception):
    """The request is supported by scikit-learn only."""


def refuse(**wanted):
    """Raise NotSupported if one of the conditions is true; its name is the reason."""
    for name, is_wanted in wanted.items():
        if is_wanted:
            raise NotSupported(name)


def _refuse_weights(weights):
    """Refuse sample weights that tutti.learn does not support. The fit validates all others."""
    weights = np.asarray(weights)  # None is an object
    if weights.ndim > 0 and weights.dtype.kind in "fiub":
        refuse(**{"negative weights": (weights < 0).any(), "weights that are all 0": not weights.any()})


def threads_of(n_jobs):
    """Return the number of threads for `n_jobs`: None means all CPUs, or one within a parallel search."""
    return effective_n_jobs(-1 if n_jobs is None else n_jobs)


def _log_fallback(name, reason):
    """Log every reason for a fallback once, not for every fit of a search."""
    text = f"{name}: fitted with scikit-learn, because tutti.learn does not support {reason}"
    if text not in _logged:
        _logged.add(text)
        log.warning(text)


class Patched:
    """Mixin of the patched estimators. `engine_` is the library that fitted the model: "tutti" or "sklearn"."""

    def fit(self, X, y, sample_weight=None, **options):
        """Fit the model with tutti.learn if it supports the request, otherwise with scikit-learn."""
        self.__dict__.pop("_model", None)
        try:
            refuse(**options, **{"no labels": y is None})
            self._validate_params()
            _refuse_weights(sample_weight)
            self._fit_ours(X, y, sample_weight)
            self.engine_ = "tutti"
            return self
        except NotSupported as error:
            reason = error
        except ValueError as error:
            if not str(error).startswith(NOT_FINITE):
                raise
            reason = "values that are not finite"
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        super().fit(X, y, **weights, **options)
        self.engine_ = "sklearn"
        _log_fallback(type(self).__name__, reason)
        return self

    def _take(self, X, model, *names):
        """Copy attributes from a model of tutti.learn."""
        if getattr(model, "is_interrupted_", False):
            raise KeyboardInterrupt  # as the fits of scikit-learn do
        self._check_feature_names(X, reset=True)
        for name in ("n_features_in_", *names):
            setattr(self, name, getattr(model, name))
