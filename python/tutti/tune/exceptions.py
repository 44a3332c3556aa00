"""Exceptions of tutti.tune."""

__all__ = ["DuplicatedStudyError", "ExperimentalWarning", "OptunaError", "StorageInternalError", "TrialPruned",
           "UpdateFinishedTrialError"]


class OptunaError(Exception):
    """Base class of the exceptions of this module. The names are those of Optuna, so scripts that catch them work."""


class TrialPruned(OptunaError):
    """Raised by an objective to end its trial early, after `Trial.should_prune` has returned True.

    Examples
    --------
    >>> import tutti.tune
    >>> def objective(trial):
    ...     raise tutti.tune.TrialPruned
    >>> study = tutti.tune.create_study()
    >>> study.optimize(objective, n_trials=1)
    >>> study.trials[0].state.name
    'PRUNED'
    """


class DuplicatedStudyError(OptunaError):
    """A study of this name exists already."""


class StorageInternalError(OptunaError):
    """A study file cannot be read or written."""


class UpdateFinishedTrialError(OptunaError, RuntimeError):
    """A trial that has ended cannot be changed."""


class ExperimentalWarning(Warning):
    """The behaviour of a function may change."""
