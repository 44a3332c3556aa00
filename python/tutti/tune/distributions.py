"""Distributions: the values that a parameter may take."""

import json
import math
import warnings
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

from tutti import _tune

__all__ = ["BaseDistribution", "CategoricalChoiceType", "CategoricalDistribution", "DiscreteUniformDistribution",
           "FloatDistribution", "IntDistribution", "IntLogUniformDistribution", "IntUniformDistribution",
           "LogUniformDistribution", "UniformDistribution", "check_distribution_compatibility",
           "distribution_to_json", "json_to_distribution"]

CategoricalChoiceType = None | bool | int | float | str


class BaseDistribution:
    """Base class of all distributions. Values inside of a study are numbers: of a choice, its index."""

    def to_external_repr(self, param_value_in_internal_repr: float) -> Any:
        """Return the value of the parameter for a number of the study."""
        return param_value_in_internal_repr

    def to_internal_repr(self, param_value_in_external_repr: Any) -> float:
        """Return the number of the study for a value of the parameter.

        Raises
        ------
        ValueError
            If the value is not of the type of the distribution.
        """
        raise NotImplementedError

    def single(self) -> bool:
        """Return True if the range has only one value."""
        raise NotImplementedError

    def _contains(self, param_value_in_internal_repr: float) -> bool:
        raise NotImplementedError

    def _asdict(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_core"}

    @cached_property
    def _core(self) -> _tune.Distribution:
        raise NotImplementedError

    def __getstate__(self):
        return self._asdict()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaseDistribution):
            return NotImplemented
        return type(self) is type(other) and self._asdict() == other._asdict()

    def __hash__(self) -> int:
        return hash((type(self).__name__, *sorted((key, str(value)) for key, value in self._asdict().items())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value}' for key, value in self._asdict().items())})"


def _internal_number(value: Any) -> float:
    try:
        number = float(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{value!r} is not a number") from error
    if math.isnan(number):
        raise ValueError(f"the value of a parameter cannot be {value}")
    return number


class FloatDistribution(BaseDistribution):
    """Real numbers in [low, high].

    Parameters
    ----------
    low, high : float
        Limits, included.
    log : bool
        Draw uniformly on a logarithmic scale. Needs low > 0 and no step.
    step : float, optional
        Distance of neighbouring values.
    """

    def __init__(self, low: float, high: float, log: bool = False, step: float | None = None) -> None:
        if log and step is not None:
            raise ValueError("a logarithmic range cannot have a step: omit one of the two")
        if low > high:
            raise ValueError(f"the range {low}..{high} is empty: low must not be larger than high")
        if log and low <= 0:
            raise ValueError(f"the logarithmic range {low}..{high} must start above 0")
        if step is not None and step <= 0:
            raise ValueError(f"step must be positive, not {step}")
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"the range {low}..{high} is not finite")
        self.step = None if step is None else float(step)
        self.low = float(low)
        self.high = _adjusted_high(float(low), float(high), self.step)
        self.log = log

    def to_internal_repr(self, param_value_in_external_repr: Any) -> float:
        number = _internal_number(param_value_in_external_repr)
        if self.log and number <= 0:
            raise ValueError(f"{param_value_in_external_repr} has no logarithm")
        return number

    def single(self) -> bool:
        return self.low == self.high

    def _contains(self, param_value_in_internal_repr: float) -> bool:
        value = param_value_in_internal_repr
        if self.step is None:
            return self.low <= value <= self.high
        steps = (value - self.low) / self.step
        return self.low <= value <= self.high and abs(steps - round(steps)) < 1.0e-8

    def _asdict(self) -> dict[str, Any]:
        return {"high": self.high, "log": self.log, "low": self.low, "step": self.step}

    @cached_property
    def _core(self) -> _tune.Distribution:
        return _tune.Distribution.real(self.low, self.high, self.log, self.step or 0)


class IntDistribution(BaseDistribution):
    """Integers in [low, high].

    Parameters
    ----------
    low, high : int
        Limits, included.
    log : bool
        Draw uniformly on a logarithmic scale. Needs low >= 1 and step 1.
    step : int
        Distance of neighbouring values.
    """

    def __init__(self, low: int, high: int, log: bool = False, step: int = 1) -> None:
        if log and step != 1:
            raise ValueError("a logarithmic range cannot have a step: omit one of the two")
        if low > high:
            raise ValueError(f"the range {low}..{high} is empty: low must not be larger than high")
        if log and low < 1:
            raise ValueError(f"the logarithmic range {low}..{high} must start at 1 or above")
        if step <= 0:
            raise ValueError(f"step must be positive, not {step}")
        self.log = log
        self.step = int(step)
        self.low = int(low)
        self.high = _adjusted_high_integer(int(low), int(high), self.step)

    def to_external_repr(self, param_value_in_internal_repr: float) -> int:
        return int(param_value_in_internal_repr)

    def to_internal_repr(self, param_value_in_external_repr: Any) -> float:
        number = _internal_number(param_value_in_external_repr)
        if self.log and number <= 0:
            raise ValueError(f"{param_value_in_external_repr} has no logarithm")
        return number

    def single(self) -> bool:
        return self.low == self.high

    def _contains(self, param_value_in_internal_repr: float) -> bool:
        value = param_value_in_internal_repr
        return self.low <= value <= self.high and (value - self.low) % self.step == 0

    def _asdict(self) -> dict[str, Any]:
        return {"high": self.high, "log": self.log, "low": self.low, "step": self.step}

    @cached_property
    def _core(self) -> _tune.Distribution:
        return _tune.Distribution.integer(self.low, self.high, self.log, self.step)


class CategoricalDistribution(BaseDistribution):
    """One of several choices.

    Parameters
    ----------
    choices : sequence
        None, bool, int, float or str. Studies in memory accept other objects as well, with a warning.
    """

    def __init__(self, choices: Sequence[CategoricalChoiceType]) -> None:
        if len(choices) == 0:
            raise ValueError("a categorical parameter needs at least one choice")
        for choice in choices:
            if choice is not None and not isinstance(choice, (bool, int, float, str)):
                warnings.warn(f"the choice {choice!r} is a {type(choice).__name__}, which a study file cannot store: use None, "
                              "bool, int, float or str",
                              stacklevel=2)
        self.choices = tuple(choices)

    def to_external_repr(self, param_value_in_internal_repr: float) -> CategoricalChoiceType:
        return self.choices[int(param_value_in_internal_repr)]

    def to_internal_repr(self, param_value_in_external_repr: CategoricalChoiceType) -> int:
        for index, choice in enumerate(self.choices):
            if is_same_choice(choice, param_value_in_external_repr):
                return index
        raise ValueError(f"{param_value_in_external_repr!r} is not one of the choices {self.choices}")

    def single(self) -> bool:
        return len(self.choices) == 1

    def _contains(self, param_value_in_internal_repr: float) -> bool:
        return 0 <= int(param_value_in_internal_repr) < len(self.choices)

    def _asdict(self) -> dict[str, Any]:
        return {"choices": self.choices}

    @cached_property
    def _core(self) -> _tune.Distribution:
        return _tune.Distribution.categorical([choice_json(choice) for choice in self.choices])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CategoricalDistribution):
            return False if isinstance(other, BaseDistribution) else NotImplemented
        pairs = zip(self.choices, other.choices, strict=False)
        return len(self.choices) == len(other.choices) and all(is_same_choice(a, b) for a, b in pairs)

    __hash__ = BaseDistribution.__hash__


def is_same_choice(first: Any, second: Any) -> bool:
    """Return True if both are equal, or both are NaN. Unlike for `==`, True and 1 differ."""
    if isinstance(first, bool) != isinstance(second, bool):
        return False
    if isinstance(first, float) and isinstance(second, float) and math.isnan(first) and math.isnan(second):
        return True
    return first is second or bool(first == second)


def choice_json(choice: Any) -> str:
    """Return the choice as JSON, which has no NaN and no infinity, or the representation of another object."""
    if isinstance(choice, float) and not math.isfinite(choice):
        return json.dumps({"float": str(choice)})
    try:
        return json.dumps(choice)
    except (TypeError, ValueError):
        return json.dumps({"python": repr(choice)})


def choice_of_json(text: str) -> Any:
    """Inverse of `choice_json`; other objects than numbers, texts, True, False and None remain dictionaries."""
    choice = json.loads(text)
    if isinstance(choice, dict) and set(choice) == {"float"}:
        return float(choice["float"])
    return choice


def distribution_of(core: _tune.Distribution) -> BaseDistribution:
    """Return the distribution of a stored one."""
    kind, low, high, is_log, step, choices = core.parts()
    if kind == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CategoricalDistribution([choice_of_json(choice) for choice in choices])
    if kind == 1:
        return IntDistribution(int(low), int(high), is_log, int(step))
    return FloatDistribution(low, high, is_log, step or None)


def _adjusted_high(low: float, high: float, step: float | None) -> float:
    """Return the last value that the step reaches."""
    if step is None:
        return high
    steps = math.floor((high - low) / step + 1e-8)
    adjusted = low + steps * step
    if abs(adjusted - high) <= 1e-8 * step:
        return high
    # Exact in the decimal digits that the caller has written.
    adjusted = float(Decimal(str(low)) + steps * Decimal(str(step)))
    warnings.warn(f"the range {low}..{high} is not a multiple of the step {step}: it ends at {adjusted}", stacklevel=3)
    return adjusted


def _adjusted_high_integer(low: int, high: int, step: int) -> int:
    adjusted = low + (high - low) // step * step
    if adjusted != high:
        warnings.warn(f"the range {low}..{high} is not a multiple of the step {step}: it ends at {adjusted}", stacklevel=3)
    return adjusted


def _deprecated(name: str, replacement: str) -> None:
    warnings.warn(f"{name} is deprecated: use {replacement}. See https://github.com/optuna/optuna/issues/2941.", FutureWarning, stacklevel=3)


class UniformDistribution(FloatDistribution):
    """Deprecated: FloatDistribution(low, high)."""

    def __init__(self, low: float, high: float) -> None:
        _deprecated("UniformDistribution", "FloatDistribution")
        super().__init__(low, high)

    def _asdict(self) -> dict[str, Any]:
        return {"high": self.high, "low": self.low}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({"log": False, "step": None, **state})


class LogUniformDistribution(FloatDistribution):
    """Deprecated: FloatDistribution(low, high, log=True)."""

    def __init__(self, low: float, high: float) -> None:
        _deprecated("LogUniformDistribution", "FloatDistribution")
        super().__init__(low, high, log=True)

    def _asdict(self) -> dict[str, Any]:
        return {"high": self.high, "low": self.low}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({"log": True, "step": None, **state})


class DiscreteUniformDistribution(FloatDistribution):
    """Deprecated: FloatDistribution(low, high, step=q)."""

    def __init__(self, low: float, high: float, q: float) -> None:
        _deprecated("DiscreteUniformDistribution", "FloatDistribution")
        super().__init__(low, high, step=q)

    @property
    def q(self) -> float:
        return self.step

    def _asdict(self) -> dict[str, Any]:
        return {"high": self.high, "low": self.low, "q": self.step}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({"log": False, "step": state["q"], "low": state["low"], "high": state["high"]})


class IntUniformDistribution(IntDistribution):
    """Deprecated: IntDistribution(low, high, step=step)."""

    def __init__(self, low: int, high: int, step: int = 1) -> None:
        _deprecated("IntUniformDistribution", "IntDistribution")
        super().__init__(low, high, step=step)

    def _asdict(self) -> dict[str, Any]:
        return {"high": self.high, "low": self.low, "step": self.step}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({"log": False, **state})


class IntLogUniformDistribution(IntDistribution):
    """Deprecated: IntDistribution(low, high, log=True)."""

    def __init__(self, low: int, high: int, step: int = 1) -> None:
        _deprecated("IntLogUniformDistribution", "IntDistribution")
        super().__init__(low, high, log=True, step=step)

    def _asdict(self) -> dict[str, Any]:
        return {"high": self.high, "low": self.low, "step": self.step}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({"log": True, **state})


DISTRIBUTION_CLASSES = (FloatDistribution, IntDistribution, CategoricalDistribution, UniformDistribution,
                        LogUniformDistribution, DiscreteUniformDistribution, IntUniformDistribution,
                        IntLogUniformDistribution)


def _converted(distribution: BaseDistribution) -> BaseDistribution:
    """Return the distribution as one of the three classes that are not deprecated, with a warning if it is not."""
    if type(distribution) in DISTRIBUTION_CLASSES[3:]:
        _deprecated(type(distribution).__name__, type(distribution).__base__.__name__)
    if type(distribution) in (UniformDistribution, LogUniformDistribution, DiscreteUniformDistribution):
        return FloatDistribution(distribution.low, distribution.high, distribution.log, distribution.step)
    if type(distribution) in (IntUniformDistribution, IntLogUniformDistribution):
        return IntDistribution(distribution.low, distribution.high, distribution.log, distribution.step)
    return distribution


def _get_single_value(distribution: BaseDistribution) -> Any:
    """Return the only value of a distribution for which `single` is True."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    return distribution.low


def distribution_to_json(dist: BaseDistribution) -> str:
    """Return a distribution as JSON, in the format of Optuna's storage.

    Examples
    --------
    >>> from tutti.tune.distributions import IntDistribution, distribution_to_json, json_to_distribution
    >>> text = distribution_to_json(IntDistribution(1, 8))
    >>> json_to_distribution(text)
    IntDistribution(high=8, log=False, low=1, step=1)
    """
    return json.dumps({"name": type(dist).__name__, "attributes": dist._asdict()})


def json_to_distribution(json_str: str) -> BaseDistribution:
    """Return the distribution of a text that `distribution_to_json` or Optuna has written.

    Raises
    ------
    ValueError
        If the text is not a distribution.
    """
    parsed = json.loads(json_str)
    if "name" in parsed:
        attributes = parsed["attributes"]
        for candidate in DISTRIBUTION_CLASSES:
            if parsed["name"] == candidate.__name__:
                return candidate(**attributes)
        raise ValueError(f"unknown distribution {parsed['name']}")
    kind = parsed.get("type")
    if kind == "categorical":
        return CategoricalDistribution(parsed["choices"])
    if kind in ("float", "int"):
        step, log = parsed.get("step"), parsed.get("log", False)
        if kind == "float":
            return FloatDistribution(parsed["low"], parsed["high"], log=log, step=step)
        return IntDistribution(parsed["low"], parsed["high"], log=log, step=1 if step is None else step)
    raise ValueError(f"unknown type of a distribution: {kind}")


def check_distribution_compatibility(dist_old: BaseDistribution, dist_new: BaseDistribution) -> None:
    """Raise ValueError if a parameter cannot have both distributions in the same study.

    The limits may differ, but not the class, the choices and `log`.
    """
    old, new = _converted(dist_old), _converted(dist_new)
    if type(old) is not type(new):
        raise ValueError(f"a parameter cannot be a {dist_old} and a {dist_new}: use another name")
    if isinstance(old, CategoricalDistribution):
        if old != new:
            raise ValueError(f"the choices of a parameter cannot change from {old.choices} to {new.choices}: use another name")
    elif old.log != new.log:
        raise ValueError("a parameter cannot be logarithmic in some trials only: use another name")
