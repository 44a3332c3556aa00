"""Functions that all kinds of trials have in common."""

import functools
import warnings
from collections.abc import Sequence
from typing import Any

from tutti.tune.distributions import (BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution,
                                      check_distribution_compatibility)

__all__ = ["BaseTrial"]


def _accepts_positional(function):
    """Let `step` and `log` of suggest_int be positional, as in old versions of Optuna, with a warning."""

    @functools.wraps(function)
    def wrapper(self, name, low, high, *positional, **keywords):
        if positional:
            warnings.warn("step and log should be keywords", FutureWarning, stacklevel=2)
            keywords.update(zip(("step", "log"), positional, strict=False))
        return function(self, name, low, high, **keywords)

    return wrapper


class BaseTrial:
    """Base class of trials: objectives ask it for the values of parameters."""

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        raise NotImplementedError

    def suggest_float(self, name: str, low: float, high: float, *, step: float | None = None,
                      log: bool = False) -> float:
        """Return the value of a float parameter.

        Parameters
        ----------
        name : str
            Name of the parameter. Asking again for the same name returns the same value.
        low, high : float
            Limits, included.
        step : float, optional
            Distance of neighbouring values. Without it, the parameter is continuous.
        log : bool
            Draw uniformly on a logarithmic scale.

        Raises
        ------
        ValueError
            If the range is empty or has no logarithm, or the parameter is of another kind in this study.

        Examples
        --------
        >>> import tutti.tune
        >>> trial = tutti.tune.create_study().ask()
        >>> 1e-4 <= trial.suggest_float("learning_rate", 1e-4, 0.1, log=True) <= 0.1
        True
        """
        return self._suggest(name, FloatDistribution(low, high, log=log, step=step))

    @_accepts_positional
    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """Return the value of an integer parameter. For parameters and errors see `suggest_float`."""
        return self._suggest(name, IntDistribution(low, high, log=log, step=step))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Return one of the choices, which must be the same in all trials of a study."""
        return self._suggest(name, CategoricalDistribution(choices))

    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        """Deprecated: `suggest_float`."""
        _warn_of_deprecated("suggest_uniform", "suggest_float")
        return self.suggest_float(name, low, high)

    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        """Deprecated: `suggest_float` with log=True."""
        _warn_of_deprecated("suggest_loguniform", "suggest_float with log=True")
        return self.suggest_float(name, low, high, log=True)

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        """Deprecated: `suggest_float` with step."""
        _warn_of_deprecated("suggest_discrete_uniform", "suggest_float with step")
        return self.suggest_float(name, low, high, step=q)


def _warn_of_deprecated(name: str, replacement: str) -> None:
    warnings.warn(f"{name} is deprecated: use {replacement}", FutureWarning, stacklevel=3)


def warn_of_other_distribution(name: str, known: BaseDistribution, distribution: BaseDistribution) -> None:
    """Check a second request for a parameter. Raises ValueError if it is of another kind."""
    check_distribution_compatibility(known, distribution)
    if known != distribution:
        warnings.warn(f"parameter '{name}' has its value of {known} already, so {distribution} has no effect",
                      RuntimeWarning, stacklevel=4)
