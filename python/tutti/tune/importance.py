"""Importance of parameters: which of them decide whether a trial is among the best."""

import abc
from collections.abc import Callable

from tutti.tune.frozen_trial import FrozenTrial
from tutti.tune.study import Study
from tutti.tune.trial_state import TrialState

__all__ = ["BaseImportanceEvaluator", "PedAnovaImportanceEvaluator", "get_param_importances"]

Target = Callable[[FrozenTrial], float]


class BaseImportanceEvaluator(abc.ABC):
    """Base class of user-defined importances."""

    @abc.abstractmethod
    def evaluate(self, study: Study, params: list[str] | None = None, *,
                 target: Target | None = None) -> dict[str, float]:
        """Return the importances by name."""


class PedAnovaImportanceEvaluator(BaseImportanceEvaluator):
    """PED-ANOVA: compares the values of the best trials with those of all trials.

    Parameters
    ----------
    target_quantile : float
        Share of the trials that are the best ones.
    """

    def __init__(self, *, target_quantile: float = 0.1) -> None:
        if not 0 < target_quantile < 1:
            raise ValueError(f"target_quantile must be between 0 and 1, not {target_quantile}")
        self._target_quantile = target_quantile

    def evaluate(self, study: Study, params: list[str] | None = None, *,
                 target: Target | None = None) -> dict[str, float]:
        return dict(self._importances(study, params, target, is_normalised=False))

    def _importances(self, study: Study, params: list[str] | None, target: Target | None, is_normalised: bool):
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if target is None and len(study.directions) > 1:
            raise ValueError("a study of several objectives needs a target, such as lambda trial: trial.values[0]")
        if not complete:
            raise ValueError("no trial is complete yet")
        names = {name for trial in complete for name in trial.params}
        missing = [name for name in params or () if name not in names]
        if missing:
            raise ValueError(f"no complete trial has the parameters {missing}; valid names: {sorted(names)}")
        if params is not None and not params:
            return []
        losses = [] if target is None else self._losses(study, complete, target)
        return study._core.importances(params or [], losses, self._target_quantile, is_normalised)

    @staticmethod
    def _losses(study: Study, complete: list[FrozenTrial], target: Target) -> list[float]:
        losses = [0.0] * study._core.size()
        for trial in complete:
            losses[trial.number] = float(target(trial))
        return losses


def get_param_importances(study: Study, *, evaluator: BaseImportanceEvaluator | None = None,
                          params: list[str] | None = None, target: Target | None = None,
                          normalize: bool = True) -> dict[str, float]:
    """Return the importances of parameters, largest first.

    Parameters
    ----------
    study : Study
    evaluator : BaseImportanceEvaluator, optional
        Default: `PedAnovaImportanceEvaluator`.
    params : list of str, optional
        Default: the parameters that all complete trials have.
    target : callable, optional
        Number of a trial that matters, smaller is better. Default: its value.
    normalize : bool
        Make the sum 1.

    Raises
    ------
    ValueError
        If no trial is complete, no trial has a parameter, or a study of several objectives has no target.

    Examples
    --------
    >>> import tutti.tune
    >>> study = tutti.tune.create_study(sampler=tutti.tune.samplers.RandomSampler(seed=1))
    >>> study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1e-3), n_trials=100)
    >>> importances = tutti.tune.importance.get_param_importances(study)
    >>> list(importances)
    ['x', 'y']
    """
    chosen = evaluator or PedAnovaImportanceEvaluator()
    if type(chosen) is PedAnovaImportanceEvaluator:
        return dict(chosen._importances(study, params, target, normalize))
    found = chosen.evaluate(study, params=params, target=target)
    total = sum(found.values()) if normalize else 1
    scaled = {name: value / total if total else 0.0 for name, value in found.items()}
    return dict(sorted(scaled.items(), key=lambda item: -item[1]))
