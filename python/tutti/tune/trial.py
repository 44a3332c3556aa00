"""Running trials."""

import copy
import datetime
import warnings
from typing import Any

from tutti.tune.base_sampler import is_overridden
from tutti.tune.base_trial import BaseTrial, warn_of_other_distribution
from tutti.tune.distributions import (BaseDistribution, _converted, _get_single_value,
                                      check_distribution_compatibility)
from tutti.tune.exceptions import TrialPruned
from tutti.tune.frozen_trial import FixedTrial, FrozenTrial, create_trial
from tutti.tune.study_data import study_and_number
from tutti.tune.trial_state import TrialState

__all__ = ["BaseTrial", "FixedTrial", "FrozenTrial", "Trial", "TrialPruned", "TrialState", "create_trial"]


class Trial(BaseTrial):
    """One evaluation of the objective, while it runs. Returned by `Study.ask` and passed to objectives."""

    def __init__(self, study, trial_id: int) -> None:
        self.study = study
        self._trial_id = trial_id
        self._data = study._data
        self._number = study_and_number(trial_id)[1]
        core = self._data.core.trial(self._number)
        self._known: dict[str, tuple[BaseDistribution, Any]] = {}
        for name, parameter, value in core.parameters:
            distribution = self._data.distribution(parameter)
            self._known[name] = (distribution, distribution.to_external_repr(value))
        self._steps = {step for step, _ in core.reports}
        self._fixed_params = {}
        if "fixed_params" in core.system_attributes:
            self._fixed_params = self._data.attributes(self._number, True, core)["fixed_params"]
        self._is_native = study._draws_natively()
        self.relative_search_space: dict[str, BaseDistribution] = {}
        self._relative_params: dict[str, Any] = {}
        if not self._is_native:
            self._draw_together()

    def _draw_together(self) -> None:
        sampler = self.study.sampler
        sampler.before_trial(self.study, self._frozen())
        frozen = self._frozen()
        self.relative_search_space = sampler.infer_relative_search_space(self.study, frozen)
        self._relative_params = sampler.sample_relative(self.study, frozen, self.relative_search_space)

    def _frozen(self) -> FrozenTrial:
        return copy.copy(self._data.trial(self._number))

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        distribution = _converted(distribution)
        if name in self._known:
            known, value = self._known[name]
            warn_of_other_distribution(name, known, distribution)
            return value
        core = self._data.register(distribution)
        if name in self._fixed_params:
            value = self._fixed_params[name]
            if not distribution._contains(distribution.to_internal_repr(value)):
                warnings.warn(f"the enqueued value {value} of '{name}' is outside of {distribution}", stacklevel=3)
        elif distribution.single():
            value = _get_single_value(distribution)
        elif self._is_native:
            value = distribution.to_external_repr(self._data.core.suggest(self._number, name, core))
            self._known[name] = (distribution, value)
            return value
        elif self._is_relative(name, distribution):
            value = self._relative_params[name]
        else:
            value = self.study.sampler.sample_independent(self.study, self._frozen(), name, distribution)
        internal = distribution.to_internal_repr(value)
        self._data.core.set_parameter(self._number, name, core, internal)
        self._known[name] = (distribution, value)
        return value

    def _is_relative(self, name: str, distribution: BaseDistribution) -> bool:
        if name not in self._relative_params:
            return False
        if name not in self.relative_search_space:
            raise ValueError(f"the sampler has drawn '{name}', which is not in its search space")
        check_distribution_compatibility(self.relative_search_space[name], distribution)
        return distribution._contains(distribution.to_internal_repr(self._relative_params[name]))

    def report(self, value: float, step: int) -> None:
        """Report an intermediate value, by which pruners compare trials.

        Parameters
        ----------
        value : float
        step : int
            For example the epoch. A second report of a step is ignored, with a warning.

        Raises
        ------
        NotImplementedError
            If the study has several objectives.
        """
        if self.study._is_multi_objective():
            raise NotImplementedError("trials of several objectives cannot report intermediate values")
        try:
            value = float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the reported value {value!r} is a {type(value).__name__}, not a number") from error
        try:
            step = int(step)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the step {step!r} is a {type(step).__name__}, not an integer") from error
        if step < 0:
            raise ValueError(f"the step must be at least 0, not {step}")
        if step in self._steps:
            warnings.warn(f"trial {self.number} has a report of step {step} already: this one is ignored",
                          stacklevel=2)
            return
        self._data.core.report(self._number, step, value)
        self._steps.add(step)

    def should_prune(self) -> bool:
        """Return True if the pruner advises to stop: raise `TrialPruned` then.

        Raises
        ------
        NotImplementedError
            If the study has several objectives.
        """
        if self.study._is_multi_objective():
            raise NotImplementedError("trials of several objectives cannot be pruned")
        pruner = self.study.pruner
        if not is_overridden(pruner, "prune"):
            return self._data.core.is_pruned_by(pruner._core, self._number)
        return bool(pruner.prune(self.study, self._frozen()))

    def set_user_attr(self, key: str, value: Any) -> None:
        """Store something with the trial, for example another metric. JSON if the study is in a file."""
        self._data.set_attribute(self._number, False, key, value)

    def set_system_attr(self, key: str, value: Any) -> None:
        """Store something that a sampler or callback needs."""
        self._data.set_attribute(self._number, True, key, value)

    @property
    def relative_params(self) -> dict[str, Any]:
        """Values that the sampler has drawn together, by name."""
        return self._relative_params

    @property
    def params(self) -> dict[str, Any]:
        """Values by name."""
        return {name: value for name, (_, value) in self._known.items()}

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Distributions by name."""
        return {name: distribution for name, (distribution, _) in self._known.items()}

    @property
    def user_attrs(self) -> dict[str, Any]:
        """Attributes of the program."""
        return self._data.attributes(self._number, False)

    @property
    def system_attrs(self) -> dict[str, Any]:
        """Attributes of samplers and callbacks."""
        return self._data.attributes(self._number, True)

    @property
    def datetime_start(self) -> datetime.datetime | None:
        """Start of the trial."""
        return self._data.trial(self._number).datetime_start

    @property
    def number(self) -> int:
        """0, 1, ... in the order of creation."""
        return self._number

    @property
    def storage(self):
        """Storage of the study."""
        return self.study._storage
