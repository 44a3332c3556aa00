"""Pruners: whether to stop a trial early."""

import abc

from tutti import _tune
from tutti.tune.base_sampler import default_hook
from tutti.tune.frozen_trial import FrozenTrial

__all__ = ["BasePruner", "HyperbandPruner", "MedianPruner", "NopPruner", "PatientPruner", "PercentilePruner",
           "SuccessiveHalvingPruner", "ThresholdPruner", "WilcoxonPruner"]


class BasePruner(abc.ABC):
    """Base class for user-defined pruners."""

    @abc.abstractmethod
    def prune(self, study, trial: FrozenTrial) -> bool:
        """Return True if the trial should stop, judging by its intermediate values and those of other trials."""


class NativePruner(BasePruner):
    """Base class of the pruners of this library."""

    _core: _tune.Pruner

    @default_hook
    def prune(self, study, trial: FrozenTrial) -> bool:
        return study._core.is_pruned_by(self._core, trial.number)

    # The C++ object is made from the options, so only they are copied.
    def __getstate__(self):
        return {"options": self._options}

    def __setstate__(self, state) -> None:
        self._set(*state["options"])

    def _set(self, *options) -> None:
        self._options = options
        self._core = self._make(*options)

    _make = staticmethod(_tune.no_pruner)


class NopPruner(NativePruner):
    """Never prunes."""

    def __init__(self) -> None:
        self._set()


def _check_steps(n_warmup_steps: int, interval_steps: int) -> None:
    if n_warmup_steps < 0:
        raise ValueError(f"n_warmup_steps must be at least 0, not {n_warmup_steps}")
    if interval_steps < 1:
        raise ValueError(f"interval_steps must be at least 1, not {interval_steps}")


class PercentilePruner(NativePruner):
    """Prunes a trial whose best report is worse than the percentile of the complete trials at the same step.

    Parameters
    ----------
    percentile : float
        25 keeps the best quarter.
    n_startup_trials : int
        Complete trials before the first decision.
    n_warmup_steps, interval_steps : int
        First step of a decision, and steps between decisions.
    n_min_trials : int
        Complete trials that must have a report at the step.
    """

    _make = staticmethod(_tune.percentile_pruner)

    def __init__(self, percentile: float, n_startup_trials: int = 5, n_warmup_steps: int = 0, interval_steps: int = 1,
                 *, n_min_trials: int = 1) -> None:
        if not 0 <= percentile <= 100:
            raise ValueError(f"percentile must be between 0 and 100, not {percentile}")
        if n_startup_trials < 0:
            raise ValueError(f"n_startup_trials must be at least 0, not {n_startup_trials}")
        if n_min_trials < 1:
            raise ValueError(f"n_min_trials must be at least 1, not {n_min_trials}")
        _check_steps(n_warmup_steps, interval_steps)
        self._set(percentile, n_startup_trials, n_warmup_steps, interval_steps, n_min_trials)


class MedianPruner(PercentilePruner):
    """Prunes a trial whose best report is worse than the median of the complete trials at the same step.

    Parameters are those of `PercentilePruner`. It is the default of studies.

    Examples
    --------
    >>> import tutti.tune
    >>> study = tutti.tune.create_study(pruner=tutti.tune.pruners.MedianPruner(n_startup_trials=1))
    >>> def objective(trial):
    ...     for step in range(10):
    ...         trial.report(trial.number + 1 / (step + 1), step)
    ...         if trial.should_prune():
    ...             raise tutti.tune.TrialPruned
    ...     return trial.number
    >>> study.optimize(objective, n_trials=3)
    >>> [trial.state.name for trial in study.trials]
    ['COMPLETE', 'PRUNED', 'PRUNED']
    """

    def __init__(self, n_startup_trials: int = 5, n_warmup_steps: int = 0, interval_steps: int = 1, *,
                 n_min_trials: int = 1) -> None:
        super().__init__(50.0, n_startup_trials, n_warmup_steps, interval_steps, n_min_trials=n_min_trials)


class ThresholdPruner(NativePruner):
    """Prunes a trial with a report that is NaN or outside of [lower, upper].

    Parameters
    ----------
    lower, upper : float, optional
        At least one of them.
    n_warmup_steps, interval_steps : int
        First step of a decision, and steps between decisions.
    """

    _make = staticmethod(_tune.threshold_pruner)

    def __init__(self, lower: float | None = None, upper: float | None = None, n_warmup_steps: int = 0,
                 interval_steps: int = 1) -> None:
        if lower is None and upper is None:
            raise TypeError("give lower, upper or both")
        limits = []
        for name, value, default in (("lower", lower, -float("inf")), ("upper", upper, float("inf"))):
            try:
                limits.append(default if value is None else float(value))
            except (TypeError, ValueError) as error:
                raise TypeError(f"{name} must be a number, not {value!r}") from error
        if limits[0] > limits[1]:
            raise ValueError(f"lower ({lower}) must not be larger than upper ({upper})")
        _check_steps(n_warmup_steps, interval_steps)
        self._set(*limits, n_warmup_steps, interval_steps)


class SuccessiveHalvingPruner(NativePruner):
    """Asynchronous successive halving: at each rung the best 1/reduction_factor of the trials continue.

    Parameters
    ----------
    min_resource : int or "auto"
        Step of the first rung. "auto": a hundredth of the last step of the first complete trial.
    reduction_factor : int
        Ratio of the steps of neighbouring rungs.
    min_early_stopping_rate : int
        Rungs that are skipped at the beginning.
    bootstrap_count : int
        Trials that a rung must have before any of them continues. Not together with "auto".
    """

    _make = staticmethod(_tune.halving_pruner)

    def __init__(self, min_resource: str | int = "auto", reduction_factor: int = 4, min_early_stopping_rate: int = 0,
                 bootstrap_count: int = 0) -> None:
        if isinstance(min_resource, str) and min_resource != "auto":
            raise ValueError(f"min_resource must be a number or 'auto', not '{min_resource}'")
        if isinstance(min_resource, int) and min_resource < 1:
            raise ValueError(f"min_resource must be at least 1, not {min_resource}")
        if reduction_factor < 2:
            raise ValueError(f"reduction_factor must be at least 2, not {reduction_factor}")
        if min_early_stopping_rate < 0:
            raise ValueError(f"min_early_stopping_rate must be at least 0, not {min_early_stopping_rate}")
        if bootstrap_count < 0:
            raise ValueError(f"bootstrap_count must be at least 0, not {bootstrap_count}")
        if bootstrap_count > 0 and min_resource == "auto":
            raise ValueError("bootstrap_count needs a number as min_resource")
        self._set(0 if min_resource == "auto" else min_resource, reduction_factor, min_early_stopping_rate,
                  bootstrap_count)


class HyperbandPruner(NativePruner):
    """Hyperband: successive halvings with different first rungs; the number of a trial decides in which it is.

    Parameters
    ----------
    min_resource : int
        Step of the first rung.
    max_resource : int or "auto"
        Last step of a trial. "auto": the largest step of a complete trial.
    reduction_factor : int
        Ratio of the steps of neighbouring rungs.
    bootstrap_count : int
        Trials that a rung must have before any of them continues. Not together with "auto".
    """

    _make = staticmethod(_tune.hyperband_pruner)

    def __init__(self, min_resource: int = 1, max_resource: str | int = "auto", reduction_factor: int = 3,
                 bootstrap_count: int = 0) -> None:
        if isinstance(max_resource, str) and max_resource != "auto":
            raise ValueError(f"max_resource must be a number or 'auto', not '{max_resource}'")
        if min_resource < 1 or (max_resource != "auto" and max_resource < min_resource):
            raise ValueError(f"min_resource ({min_resource}) must be at least 1 and at most max_resource ({max_resource})")
        if reduction_factor < 2:
            raise ValueError(f"reduction_factor must be at least 2, not {reduction_factor}")
        if bootstrap_count < 0:
            raise ValueError(f"bootstrap_count must be at least 0, not {bootstrap_count}")
        if bootstrap_count > 0 and max_resource == "auto":
            raise ValueError("bootstrap_count needs a number as max_resource")
        self._set(min_resource, 0 if max_resource == "auto" else max_resource, reduction_factor, bootstrap_count)


class WilcoxonPruner(NativePruner):
    """Prunes a trial that is worse than the best one by Wilcoxon's signed-rank test of reports at the same steps.

    For results on parts of a task in any order, such as the folds of a cross-validation; not for learning curves.

    Parameters
    ----------
    p_threshold : float
        Smaller prunes less.
    n_startup_steps : int
        Reports before the first decision.
    """

    _make = staticmethod(_tune.wilcoxon_pruner)

    def __init__(self, *, p_threshold: float = 0.1, n_startup_steps: int = 2) -> None:
        if not 0 <= p_threshold <= 1:
            raise ValueError(f"p_threshold must be between 0 and 1, not {p_threshold}")
        if n_startup_steps < 0:
            raise ValueError(f"n_startup_steps must be at least 0, not {n_startup_steps}")
        self._set(p_threshold, n_startup_steps)


class PatientPruner(BasePruner):
    """Asks another pruner only if the last reports did not improve on the ones before.

    Parameters
    ----------
    wrapped_pruner : BasePruner or None
        None: prunes without asking.
    patience : int
        Reports without improvement that are tolerated.
    min_delta : float
        Improvements up to it do not count.
    """

    def __init__(self, wrapped_pruner: BasePruner | None, patience: int, min_delta: float = 0.0) -> None:
        if patience < 0:
            raise ValueError(f"patience must be at least 0, not {patience}")
        if min_delta < 0:
            raise ValueError(f"min_delta must be at least 0, not {min_delta}")
        self._wrapped_pruner = wrapped_pruner
        self._stalled = _Stalled(patience, min_delta)

    def prune(self, study, trial: FrozenTrial) -> bool:
        if not self._stalled.prune(study, trial):
            return False
        return self._wrapped_pruner is None or self._wrapped_pruner.prune(study, trial)


class _Stalled(NativePruner):
    _make = staticmethod(_tune.patient_pruner)

    def __init__(self, patience: int, min_delta: float) -> None:
        self._set(patience, min_delta)
