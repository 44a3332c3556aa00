"""Parameters that trials have in common."""

from tutti.tune.distributions import BaseDistribution

__all__ = ["IntersectionSearchSpace", "intersection_search_space"]


class IntersectionSearchSpace:
    """The parameters that all complete trials have.

    Parameters
    ----------
    include_pruned : bool
        Of pruned trials, too.
    """

    def __init__(self, include_pruned: bool = False) -> None:
        self._include_pruned = include_pruned

    def calculate(self, study) -> dict[str, BaseDistribution]:
        """Return the distributions by name, in the order of the names."""
        return intersection_search_space(study.get_trials(deepcopy=False), self._include_pruned)


def intersection_search_space(trials, include_pruned: bool = False) -> dict[str, BaseDistribution]:
    """Return the parameters that all complete trials have, with their latest distributions.

    Parameters
    ----------
    trials : list of FrozenTrial
    include_pruned : bool
        Of pruned trials, too.
    """
    from tutti.tune.trial_state import TrialState

    states = (TrialState.COMPLETE, TrialState.PRUNED) if include_pruned else (TrialState.COMPLETE,)
    space: dict[str, BaseDistribution] | None = None
    for trial in trials:
        if trial.state in states:
            own = trial.distributions
            space = dict(own) if space is None else {name: own[name] for name in space if name in own}
    return dict(sorted((space or {}).items()))
