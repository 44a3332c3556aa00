"""Trials that do not change: those of the past, and fixed ones to call an objective with."""

import datetime
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from tutti.tune.base_trial import BaseTrial
from tutti.tune.distributions import BaseDistribution, _converted, check_distribution_compatibility
from tutti.tune.trial_state import TrialState

__all__ = ["FixedTrial", "FrozenTrial", "create_trial"]


class FrozenTrial(BaseTrial):
    """A trial of a study as it was when it was read.

    Attributes
    ----------
    state : TrialState
    intermediate_values : dict
        Reports by step.
    datetime_complete : datetime or None
        End of the trial.
    """

    def __init__(self, number: int, state: TrialState, value: float | None, datetime_start: datetime.datetime | None,
                 datetime_complete: datetime.datetime | None, params: dict[str, Any],
                 distributions: dict[str, BaseDistribution], user_attrs: dict[str, Any],
                 system_attrs: dict[str, Any], intermediate_values: dict[int, float], trial_id: int, *,
                 values: Sequence[float] | None = None) -> None:
        if value is not None and values is not None:
            raise ValueError("give value or values, not both")
        self._number = number
        self.state = state
        self._values = [float(value)] if value is not None else None if values is None else list(values)
        self._datetime_start = datetime_start
        self.datetime_complete = datetime_complete
        self._params = params
        self._user_attrs = user_attrs
        self._system_attrs = system_attrs
        self.intermediate_values = intermediate_values
        self._distributions = distributions
        self._trial_id = trial_id

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, FrozenTrial) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.number < other.number if isinstance(other, FrozenTrial) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self.number <= other.number if isinstance(other, FrozenTrial) else NotImplemented

    def __hash__(self) -> int:
        return hash((self._number, self.state, str(self._values), self._trial_id, *self._params))

    def __repr__(self) -> str:
        names = ("number", "state", "values", "datetime_start", "datetime_complete", "params", "user_attrs",
                 "system_attrs", "intermediate_values", "distributions")
        fields = [f"{name}={getattr(self, name)!r}" for name in names]
        return f"FrozenTrial({', '.join(fields)}, trial_id={self._trial_id}, value=None)"

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        if name not in self._params:
            raise ValueError(f"the trial has no value of '{name}'; its parameters: {', '.join(self._params) or 'none'}")
        value = self._params[name]
        if not distribution._contains(distribution.to_internal_repr(value)):
            warnings.warn(f"the value {value} of '{name}' is outside of {distribution}", stacklevel=3)
        if name in self._distributions:
            check_distribution_compatibility(self._distributions[name], distribution)
        self._distributions[name] = distribution
        return value

    def report(self, value: float, step: int) -> None:
        """Do nothing: the trial has ended."""

    def should_prune(self) -> bool:
        """Return False: the trial has ended."""
        return False

    def set_user_attr(self, key: str, value: Any) -> None:
        """Set an attribute of this object; the study does not change."""
        self._user_attrs[key] = value

    def set_system_attr(self, key: str, value: Any) -> None:
        """Set an attribute of this object; the study does not change."""
        self._system_attrs[key] = value

    def _validate(self) -> None:
        if self.state != TrialState.WAITING and self.datetime_start is None:
            raise ValueError("a trial that is not waiting needs datetime_start")
        if self.state.is_finished() != (self.datetime_complete is not None):
            raise ValueError("a trial has datetime_complete exactly if it has ended")
        if self.state == TrialState.FAIL and self._values is not None:
            raise ValueError(f"a failed trial cannot have values: {self._values}")
        if self.state == TrialState.COMPLETE:
            if self._values is None:
                raise ValueError("a complete trial needs a value")
            if any(value != value for value in self._values):
                raise ValueError(f"a value of a complete trial cannot be NaN: {self._values}")
        if set(self.params) != set(self.distributions):
            raise ValueError(f"params and distributions have different names: {set(self.params)}, "
                             f"{set(self.distributions)}")
        for name, distribution in self.distributions.items():
            if not distribution._contains(distribution.to_internal_repr(self.params[name])):
                raise ValueError(f"the value {self.params[name]!r} of '{name}' is outside of {distribution}")

    @property
    def number(self) -> int:
        """0, 1, ... in the order of creation."""
        return self._number

    @number.setter
    def number(self, value: int) -> None:
        self._number = value

    @property
    def value(self) -> float | None:
        """Result of a single objective; None unless complete, or pruned after a report."""
        if self._values is not None and len(self._values) != 1:
            raise RuntimeError("the trial has several values: use `values`")
        return None if self._values is None else self._values[0]

    @value.setter
    def value(self, value: float | None) -> None:
        if self._values is not None and len(self._values) != 1:
            raise RuntimeError("the trial has several values: use `values`")
        self._values = None if value is None else [value]

    @property
    def values(self) -> list[float] | None:
        """One result per objective; None unless complete, or pruned after a report."""
        return self._values

    @values.setter
    def values(self, values: Sequence[float] | None) -> None:
        self._values = None if values is None else list(values)

    @property
    def datetime_start(self) -> datetime.datetime | None:
        """Start of the trial."""
        return self._datetime_start

    @datetime_start.setter
    def datetime_start(self, value: datetime.datetime | None) -> None:
        self._datetime_start = value

    @property
    def params(self) -> dict[str, Any]:
        """Values by name."""
        return self._params

    @params.setter
    def params(self, params: dict[str, Any]) -> None:
        self._params = params

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Distributions by name."""
        return self._distributions

    @distributions.setter
    def distributions(self, value: dict[str, BaseDistribution]) -> None:
        self._distributions = value

    @property
    def user_attrs(self) -> dict[str, Any]:
        """Attributes of the program."""
        return self._user_attrs

    @user_attrs.setter
    def user_attrs(self, value: dict[str, Any]) -> None:
        self._user_attrs = value

    @property
    def system_attrs(self) -> dict[str, Any]:
        """Attributes of samplers and callbacks."""
        return self._system_attrs

    @system_attrs.setter
    def system_attrs(self, value: Mapping[str, Any]) -> None:
        self._system_attrs = dict(value)

    @property
    def last_step(self) -> int | None:
        """Largest step with a report; None without reports."""
        return max(self.intermediate_values, default=None)

    @property
    def duration(self) -> datetime.timedelta | None:
        """Time from start to end; None until the trial has ended."""
        if self.datetime_start is None or self.datetime_complete is None:
            return None
        return self.datetime_complete - self.datetime_start


class FixedTrial(BaseTrial):
    """A trial with given values, to call an objective without a study.

    Parameters
    ----------
    params : dict
        Values by name.
    number : int
        What `number` returns.

    Examples
    --------
    >>> import tutti.tune
    >>> def objective(trial):
    ...     return trial.suggest_float("x", -10, 10) ** 2
    >>> objective(tutti.tune.trial.FixedTrial({"x": 3.0}))
    9.0
    """

    def __init__(self, params: dict[str, Any], number: int = 0) -> None:
        self._params = params
        self._suggested_params: dict[str, Any] = {}
        self._distributions: dict[str, BaseDistribution] = {}
        self._user_attrs: dict[str, Any] = {}
        self._system_attrs: dict[str, Any] = {}
        self._datetime_start = datetime.datetime.now()
        self._number = number

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        if name not in self._params:
            raise ValueError(f"the trial has no value of '{name}'; its parameters: {', '.join(self._params) or 'none'}")
        value = self._params[name]
        if not distribution._contains(distribution.to_internal_repr(value)):
            warnings.warn(f"the value {value} of '{name}' is outside of {distribution}", stacklevel=3)
        if name in self._distributions:
            check_distribution_compatibility(self._distributions[name], distribution)
        self._suggested_params[name] = value
        self._distributions[name] = distribution
        return value

    def report(self, value: float, step: int) -> None:
        """Do nothing."""

    def should_prune(self) -> bool:
        """Return False."""
        return False

    def set_user_attr(self, key: str, value: Any) -> None:
        """Set an attribute of this object."""
        self._user_attrs[key] = value

    def set_system_attr(self, key: str, value: Any) -> None:
        """Set an attribute of this object."""
        self._system_attrs[key] = value

    @property
    def params(self) -> dict[str, Any]:
        """Values by name."""
        return self._suggested_params

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Distributions by name."""
        return self._distributions

    @property
    def user_attrs(self) -> dict[str, Any]:
        """Attributes of the program."""
        return self._user_attrs

    @property
    def system_attrs(self) -> dict[str, Any]:
        """Attributes of samplers and callbacks."""
        return self._system_attrs

    @property
    def datetime_start(self) -> datetime.datetime | None:
        """Start of the trial."""
        return self._datetime_start

    @property
    def number(self) -> int:
        """0, 1, ... in the order of creation."""
        return self._number


def create_trial(*, state: TrialState | None = None, value: float | None = None, values: Sequence[float] | None = None,
                 params: dict[str, Any] | None = None, distributions: dict[str, BaseDistribution] | None = None,
                 user_attrs: dict[str, Any] | None = None, system_attrs: dict[str, Any] | None = None,
                 intermediate_values: dict[int, float] | None = None) -> FrozenTrial:
    """Return a trial for `Study.add_trial`, for example one that was evaluated elsewhere.

    Parameters
    ----------
    state : TrialState, optional
        Default: complete.
    value, values : optional
        Result; one per objective.
    params, distributions : dict, optional
        Values of parameters and their distributions; both with the same names.
    user_attrs, system_attrs, intermediate_values : dict, optional

    Raises
    ------
    ValueError
        If values are missing, or outside of their distributions.

    Examples
    --------
    >>> import tutti.tune
    >>> from tutti.tune.distributions import FloatDistribution
    >>> study = tutti.tune.create_study()
    >>> study.add_trial(tutti.tune.create_trial(params={"x": 2.0}, distributions={"x": FloatDistribution(0, 10)},
    ...                                         value=4.0))
    >>> study.best_params
    {'x': 2.0}
    """
    state = TrialState.COMPLETE if state is None else state
    now = datetime.datetime.now()
    converted = {name: _converted(distribution) for name, distribution in (distributions or {}).items()}
    trial = FrozenTrial(number=-1, trial_id=-1, state=state, value=value, values=values,
                        datetime_start=None if state == TrialState.WAITING else now,
                        datetime_complete=now if state.is_finished() else None, params=params or {},
                        distributions=converted, user_attrs=user_attrs or {}, system_attrs=system_attrs or {},
                        intermediate_values=intermediate_values or {})
    trial._validate()
    return trial
