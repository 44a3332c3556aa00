"""Parameters that trials have in common."""

from tutti.tune.distributions import BaseDistribution
from tutti.tune.trial_state import TrialState

__all__ = ["IntersectionSearchSpace", "intersection_search_space"]


class IntersectionSearchSpace:
    """The parameters that all complete trials of one study have, with the same distribution.

    Parameters
    ----------
    include_pruned : bool
        Of pruned trials, too.
    """

    def __init__(self, include_pruned: bool = False) -> None:
        self._include_pruned = include_pruned
        self._study_id: int | None = None

    def calculate(self, study) -> dict[str, BaseDistribution]:
        """Return the distributions by name, in the order of the names. Raises ValueError for a second study."""
        if self._study_id not in (None, study._study_id):
            raise ValueError("the object belongs to another study: create one for each study")
        self._study_id = study._study_id
        return intersection_search_space(study.get_trials(deepcopy=False), self._include_pruned)


def intersection_search_space(trials, include_pruned: bool = False) -> dict[str, BaseDistribution]:
    """Return the parameters that all complete trials have, with the same distribution, in the order of the names.

    Parameters
    ----------
    trials : list of FrozenTrial
    include_pruned : bool
        Of pruned trials, too.
    """
    states = (TrialState.COMPLETE, TrialState.PRUNED) if include_pruned else (TrialState.COMPLETE,)
    space: dict[str, BaseDistribution] | None = None
    for trial in trials:
        if trial.state in states:
            own = trial.distributions
            space = dict(own) if space is None else {name: one for name, one in space.items() if own.get(name) == one}
    return dict(sorted((space or {}).items()))
