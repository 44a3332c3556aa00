"""Base classes of samplers."""

import abc
import secrets
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tutti import _tune
from tutti.tune.distributions import BaseDistribution
from tutti.tune.frozen_trial import FrozenTrial
from tutti.tune.trial_state import TrialState

__all__ = ["BaseSampler", "NativeSampler", "default_hook", "is_overridden", "store_constraints"]

ConstraintsFunction = Callable[[FrozenTrial], Sequence[float]]


def default_hook(method):
    """Mark a method of a base class, so studies can skip it."""
    method.is_default = True
    return method


def is_overridden(owner: object, name: str) -> bool:
    """Return True if a subclass, or the object itself, has replaced a method that is marked with `default_hook`."""
    return getattr(getattr(owner, name), "is_default", None) is not True


class BaseSampler(abc.ABC):
    """Base class for user-defined samplers.

    At the start of a trial, `infer_relative_search_space` and then `sample_relative` draw the parameters that depend on
    each other. The others are drawn by `sample_independent` when the objective asks for them.
    """

    def __str__(self) -> str:
        return type(self).__name__

    @abc.abstractmethod
    def infer_relative_search_space(self, study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters that `sample_relative` draws, by name."""

    @abc.abstractmethod
    def sample_relative(self, study, trial: FrozenTrial,
                        search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        """Return values of the parameters of `search_space` by name."""

    @abc.abstractmethod
    def sample_independent(self, study, trial: FrozenTrial, param_name: str,
                           param_distribution: BaseDistribution) -> Any:
        """Return the value of a parameter that `sample_relative` has not drawn."""

    @default_hook
    def before_trial(self, study, trial: FrozenTrial) -> None:
        """Called before a trial starts."""

    @default_hook
    def after_trial(self, study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Called before the result of a trial is stored. `values` is None unless the trial is complete."""

    def reseed_rng(self) -> None:
        """Called once by `Study.optimize` with n_jobs other than 1."""

    def _raise_error_if_multi_objective(self, study) -> None:
        if study._is_multi_objective():
            raise ValueError(f"{type(self).__name__} supports a single objective only")


class NativeSampler(BaseSampler):
    """Base class of the samplers of this library.

    A value depends on the seed, the number of the trial and the trials before it, not on earlier calls. A study that is
    resumed with the same seed therefore continues as if it had never stopped.
    """

    def __init__(self, seed: int | None, constraints_func: ConstraintsFunction | None = None) -> None:
        self._seed = secrets.randbits(63) if seed is None else int(seed) % 2**64
        self._constraints_func = constraints_func

    def _make(self, study) -> _tune.Sampler:
        """Return the sampler of a study."""
        raise NotImplementedError

    def _core(self, study) -> _tune.Sampler:
        # Caches of a sampler belong to one study.
        known = study._native_samplers.get(self)
        if known is None:
            known = study._native_samplers[self] = self._make(study)
        return known

    @default_hook
    def infer_relative_search_space(self, study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return {name: study._distribution(name, core) for name, core in study._core.joint_space(self._core(study))}

    @default_hook
    def sample_relative(self, study, trial: FrozenTrial,
                        search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        if not search_space:
            return {}
        space = [(name, distribution._core) for name, distribution in search_space.items()]
        values = study._core.draw_together(self._core(study), trial.number, space)
        return {name: distribution.to_external_repr(value)
                for (name, distribution), value in zip(search_space.items(), values, strict=True)}

    @default_hook
    def sample_independent(self, study, trial: FrozenTrial, param_name: str,
                           param_distribution: BaseDistribution) -> Any:
        value = study._core.draw_alone(self._core(study), trial.number, param_name, param_distribution._core)
        return param_distribution.to_external_repr(value)

    @default_hook
    def after_trial(self, study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        store_constraints(self._constraints_func, study, trial, state)

    def _warn_of_ignored(self, options: dict[str, Any]) -> None:
        names = [name for name, value in options.items() if value is not None]
        if names:
            warnings.warn(f"{type(self).__name__} ignores the options {', '.join(names)}", stacklevel=3)


def store_constraints(function: ConstraintsFunction | None, study, trial: FrozenTrial, state: TrialState) -> None:
    """Store the constraints of a trial that is about to end as complete or pruned."""
    if function is None or state not in (TrialState.COMPLETE, TrialState.PRUNED):
        return
    constraints = [float(value) for value in function(trial)]
    if any(value != value for value in constraints):
        raise ValueError(f"a constraint of trial {trial.number} is NaN: {constraints}")
    study._core.set_constraints(trial.number, constraints)

