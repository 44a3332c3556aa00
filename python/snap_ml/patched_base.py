"""What the patched estimators share: each is scikit-learn's own class with another `fit`.

Names, defaults, checks, `get_params`, `clone` and searches are scikit-learn's, because the class is. What ours cannot do is found out in
`fit`, where both options and data are known; then scikit-learn's own fit does it, so a program that ran before the patch runs after it.
"""

import logging

from joblib import effective_n_jobs

log = logging.getLogger("snap_ml")
_told = set()


class NotOurs(Exception):
    """What is asked for is scikit-learn's alone."""


def refuse(**wanted):
    """NotOurs when one of these is true; their names say what is asked for."""
    for name, is_wanted in wanted.items():
        if is_wanted:
            raise NotOurs(name)


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
            refuse(**options)
            self._validate_params()
            self._fit_ours(X, y, sample_weight)
            self.engine_ = "tutti"
            return self
        except Exception as error:  # whatever it is: scikit-learn either can do it or says in its own words why not
            reason = error
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
