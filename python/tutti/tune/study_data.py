"""Trials and attributes of one study, as Python objects."""

import datetime
import json
import threading
from collections.abc import Sequence
from typing import Any

from tutti import _tune
from tutti.tune import exceptions
from tutti.tune.distributions import BaseDistribution, distribution_of
from tutti.tune.frozen_trial import FrozenTrial
from tutti.tune.trial_state import TrialState

__all__ = ["StudyData", "study_and_number"]

CONSTRAINTS = "constraints"
_NUMBER_BITS = 32  # of the id of a trial; the upper ones are the id of its study


def study_and_number(trial_id: int) -> tuple[int, int]:
    """Return the id of the study and the number of a trial."""
    return trial_id >> _NUMBER_BITS, trial_id & (2**_NUMBER_BITS - 1)


def json_of(value: Any) -> str:
    """Return the value of an attribute as JSON, which has no NaN and no infinity."""
    return json.dumps(_encoded(value), allow_nan=False)


def _encoded(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return {"float": str(value)}
    if isinstance(value, dict):
        return {key: _encoded(item) for key, item in value.items()}
    return [_encoded(item) for item in value] if isinstance(value, (list, tuple)) else value


def _decoded(value: dict) -> Any:
    return float(value["float"]) if set(value) == {"float"} else value


def value_of_json(text: str) -> Any:
    """Inverse of `json_of`."""
    return json.loads(text, object_hook=_decoded)


class StudyData:
    """The trials of a study in C++, and what only Python has: attributes and choices that are not JSON.

    Shared by all `Study` objects of the same study in this process.
    """

    def __init__(self, study_id: int, name: str, is_maximized: Sequence[bool],
                 file: "_tune.StudyFile | None" = None) -> None:
        self.study_id, self.name, self.is_maximized, self.file = study_id, name, list(is_maximized), file
        self.core = _tune.Study(self.is_maximized, _tune.random_sampler(0), _tune.no_pruner(), file, name)
        self.sampler: object = None  # of the latest trial
        self.lock = threading.RLock()  # held while trials start, so each starts with its own sampler
        self._distributions: dict[tuple, BaseDistribution] = {}
        self._objects: dict[tuple[int, bool], dict[str, Any]] = {}  # attributes of trials in memory
        self._finished: dict[int, FrozenTrial] = {}
        self._study_attributes: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        if file:
            self._study_attributes = tuple({key: value_of_json(text) for key, text in
                                            file.attributes(name, is_system).items()} for is_system in (False, True))

    def __getstate__(self):
        trials = [self.trial(number) for number in range(self.core.size())]
        return (self.study_id, self.name, self.is_maximized, self._study_attributes, trials)

    def __setstate__(self, state) -> None:
        study_id, name, is_maximized, attributes, trials = state
        self.__init__(study_id, name, is_maximized)
        self._study_attributes = attributes
        for trial in trials:
            self.add(trial)

    def distribution(self, core: _tune.Distribution) -> BaseDistribution:
        """Return the distribution with the choices that the program has given."""
        parts = core.parts()
        known = self._distributions.get(parts)
        if known is None:
            known = self._distributions[parts] = distribution_of(core)
        return known

    def register(self, distribution: BaseDistribution) -> _tune.Distribution:
        """Return the distribution for the study, which from now on knows its choices."""
        core = distribution._core
        if hasattr(distribution, "choices"):
            self._distributions.setdefault(core.parts(), distribution)
        return core

    def trial_id(self, number: int) -> int:
        return (self.study_id << _NUMBER_BITS) | number

    def trial(self, number: int) -> FrozenTrial:
        """Return a trial; finished ones are not copied. Raises IndexError for an unknown number."""
        known = self._finished.get(number)
        if known is None:
            known = self._frozen(self.core.trial(number))
            if known.state.is_finished():
                self._finished[number] = known
        return known

    def trials(self, states: Sequence[TrialState] | None = None) -> list[FrozenTrial]:
        """Return the trials in one of the states; finished ones are not copied."""
        wanted = None if states is None else set(states)
        return [self.trial(number) for number, state in enumerate(self.core.states(0))
                if wanted is None or TrialState(state) in wanted]

    def attributes(self, number: int, is_system: bool, core: "_tune.Trial | None" = None) -> dict[str, Any]:
        """Return the user or system attributes of a trial."""
        core = self.core.trial(number) if core is None else core
        texts = core.system_attributes if is_system else core.user_attributes
        objects = self._objects.get((number, is_system), {})
        values = {key: objects[key] if key in objects else value_of_json(text) for key, text in texts.items()}
        if is_system and core.constraints:
            values[CONSTRAINTS] = list(core.constraints)
        return values

    def set_attribute(self, number: int, is_system: bool, key: str, value: Any) -> None:
        """Set an attribute of a trial. Raises TypeError for a value that is not JSON, unless the study is in memory."""
        if TrialState(self.core.trial(number).state).is_finished():
            raise exceptions.UpdateFinishedTrialError(f"trial {number} has ended: it cannot be changed")
        if is_system and key == CONSTRAINTS:
            self.core.set_constraints(number, [float(one) for one in value])
        else:
            self.core.set_attribute(number, is_system, key, self._json(number, is_system, key, value))

    def _json(self, number: int, is_system: bool, key: str, value: Any) -> str:
        if self.file:
            return json_of(value)
        self._objects.setdefault((number, is_system), {})[key] = value
        try:
            return json_of(value)
        except (TypeError, ValueError):
            return "null"

    def study_attributes(self, is_system: bool) -> dict[str, Any]:
        return self._study_attributes[is_system]

    def set_study_attribute(self, is_system: bool, key: str, value: Any) -> None:
        if self.file:
            self.file.set_attribute(self.name, is_system, key, json_of(value))
        self._study_attributes[is_system][key] = value

    def add(self, trial: FrozenTrial) -> int:
        """Add a trial as it is, and return its number."""
        core = _tune.Trial()
        core.state = int(trial.state)
        core.values = [] if trial.values is None else [float(value) for value in trial.values]
        core.started = 0 if trial.datetime_start is None else trial.datetime_start.timestamp()
        core.ended = 0 if trial.datetime_complete is None else trial.datetime_complete.timestamp()
        core.parameters = [(name, self.register(distribution), distribution.to_internal_repr(trial.params[name]))
                           for name, distribution in trial.distributions.items()]
        core.reports = sorted((int(step), float(value)) for step, value in trial.intermediate_values.items())
        system = dict(trial.system_attrs)
        core.constraints = [float(value) for value in system.pop(CONSTRAINTS, None) or []]
        with self.lock:
            number = self.core.size()
            core.user_attributes = {key: self._json(number, False, key, value)
                                    for key, value in trial.user_attrs.items()}
            core.system_attributes = {key: self._json(number, True, key, value) for key, value in system.items()}
            return self.core.add(core)

    def fail_running(self) -> list[int]:
        """End the trials that a process left running, and return their numbers."""
        stale = [number for number, state in enumerate(self.core.states(0)) if state == TrialState.RUNNING]
        for number in stale:
            self.core.tell(number, int(TrialState.FAIL), [])
        return stale

    def _frozen(self, core: _tune.Trial) -> FrozenTrial:
        distributions, params = {}, {}
        for name, distribution, value in core.parameters:
            distributions[name] = self.distribution(distribution)
            params[name] = distributions[name].to_external_repr(value)
        state = TrialState(core.state)
        return FrozenTrial(
            number=core.number, state=state, value=None, values=list(core.values) or None,
            datetime_start=_time(core.started), datetime_complete=_time(core.ended) if state.is_finished() else None,
            params=params, distributions=distributions, user_attrs=self.attributes(core.number, False, core),
            system_attrs=self.attributes(core.number, True, core), intermediate_values=dict(core.reports),
            trial_id=self.trial_id(core.number))


def _time(seconds: float) -> datetime.datetime | None:
    return datetime.datetime.fromtimestamp(seconds) if seconds else None
